"""The nursery: a process that imports the agents' code once and then forks every machine from it.

`python -m testbed.lan.runtimes.nursery` reads its orders from standard input, as JSON, and writes a
line for each machine: its number and its first process, or what went wrong. Then it ends. Forking
costs a machine neither the time nor the memory of a Python of its own: 71 machines share one.

Orders that are cut short, because the one who gives them was killed, are not followed. From then on
the nursery is in a control group of ours, and so is all that it forks.
"""

import gc
import importlib
import json
import os
import runpy
import sys
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

from testbed.lan.runtimes import AGENT_UID, SHARED
from testbed.lan.runtimes.cgroups import Group
from testbed.lan.runtimes.machine_root import build_root, complete_root
from testbed.lan.runtimes.system_calls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUTS,
    become,
    change_root,
    raise_loopback,
    set_host_name,
    unshare,
)

NAMESPACES = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": SHARED,
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass(frozen=True)
class Birth:
    """A machine to fork: its number, its name, its folder, and the folders of its control group."""

    number: int
    name: str
    folder: str
    group: list[str]


@dataclass(frozen=True)
class Orders:
    """What to fork. `program` is a package and its arguments, as after `python -m`."""

    group: list[str]
    root: str
    program: list[str]
    births: list[Birth]

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        orders: dict[str, Any] = json.loads(text)
        births = [Birth(**birth) for birth in orders.pop("births")]
        return cls(births=births, **orders)


def main() -> None:
    orders = Orders.from_json(sys.stdin.read())
    Group(map(Path, orders.group)).enter()
    _import_program(orders.program[0])
    gc.collect()
    gc.freeze()  # the collector would write into every page that is shared
    unshare(CLONE_NEWNS)
    build_root(Path(orders.root))
    for birth in orders.births:
        if os.fork() == 0:
            _bear(birth, orders)
    for _birth in orders.births:
        os.wait()


def _import_program(module: str) -> None:
    """All that it needs; its last module is then run by each machine as if for the first time."""
    importlib.import_module(f"{module}.__main__")
    del sys.modules[f"{module}.__main__"]


def _bear(birth: Birth, orders: Orders) -> NoReturn:
    """In a process of its own, since only the children of one who leaves the process namespace are
    in the new one."""
    try:
        Group(map(Path, birth.group)).enter()
        unshare(NAMESPACES)
        raise_loopback()
        heard, said = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(heard)
            _live(birth, orders, said)
        os.close(said)
        with open(heard, "rb") as pipe:
            failure = pipe.read().decode()
    except OSError as error:
        failure = str(error)
    answer = (
        {"host": birth.number, "error": failure} if failure else {"host": birth.number, "pid": pid}
    )
    with suppress(BrokenPipeError):  # whoever asked was interrupted, and clears us away
        os.write(1, json.dumps(answer).encode() + b"\n")
    os._exit(0)


def _live(birth: Birth, orders: Orders, said: int) -> NoReturn:
    """The machine's first process. The pipe is closed without a word when all is well."""
    code = 1
    try:
        set_host_name(birth.name)
        root = Path(orders.root)
        complete_root(root, Path(birth.folder))
        change_root(root)
        os.setsid()
        os.umask(0o077)
        become(AGENT_UID)
        _redirect_output()
        os.environ.clear()
        os.environ.update(ENVIRONMENT)
    except OSError as error:
        os.write(said, str(error).encode())
        os._exit(code)
    os.closerange(3, said + 1)
    try:
        sys.argv = list(orders.program)
        runpy.run_module(orders.program[0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _redirect_output() -> None:
    log = os.open(
        f"{SHARED}/log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600
    )
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)


if __name__ == "__main__":
    main()
