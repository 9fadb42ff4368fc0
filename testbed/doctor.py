"""What this computer can do, found out by doing it, and how to mend what it cannot.

Kernel abilities are tried in a network namespace that is made for the moment and gone afterwards.
What needs root to be tried is said to be unknown where there is none.
"""

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from agents.core.errors import LocalError
from testbed.lan.abilities import abilities
from testbed.lan.namespaces import inside, temporary
from testbed.lan.runtimes.cgroups import Group, find_hierarchies
from testbed.lan.runtimes.docker import connect, engine_address, engine_answers

State = Literal["ok", "missing", "unknown"]

AGENT_MB = 30
"""What an agent takes at most; ours."""
SMALLEST_LAN = 12
"""Agents of topologies/smoke.yaml."""

OTHER_KERNEL = "boot a kernel that has it, such as Debian's: apt-get install linux-image-amd64"
AS_ROOT = "call 'sudo bin/testbed doctor'"


@dataclass(frozen=True)
class Check:
    """One thing that was tried. `needed` says whether a LAN cannot do without it."""

    name: str
    state: State
    detail: str
    remedy: str = ""
    needed: bool = False

    @property
    def ok(self) -> bool:
        return self.state == "ok"


def checks() -> list[Check]:
    """Everything that a LAN or an analysis may need, in the order in which it is needed."""
    return [
        _root(),
        *(_as_root(*trial) for trial in _TRIALS),
        _docker(),
        *(_program(*wanted) for wanted in _PROGRAMS),
        _java(),
        _memory(),
    ]


def is_fit(found: list[Check]) -> bool:
    """Whether a LAN can be made here."""
    return all(check.ok for check in found if check.needed)


def _root() -> Check:
    if os.geteuid() == 0:
        return Check("root", "ok", "called as root", needed=True)
    return Check("root", "missing", "namespaces, links and limits need it", AS_ROOT, needed=True)


Trial = Callable[[], str]
"""Says what it found, or raises with what went wrong."""


class Failed(LocalError):
    """Something that was tried cannot be done here."""


def _as_root(name: str, trial: Trial, remedy: str, needed: bool) -> Check:
    if os.geteuid() != 0:
        return Check(name, "unknown", "only root can try it", AS_ROOT, needed)
    try:
        return Check(name, "ok", trial(), needed=needed)
    except NetlinkError as error:
        return Check(name, "missing", os.strerror(error.code), remedy, needed)
    except (LocalError, OSError) as error:
        return Check(name, "missing", str(error), remedy, needed)


def _namespaces() -> str:
    kinds = ("net", "mount", "pid", "uts", "ipc")
    command = ["unshare", *(f"--{kind}" for kind in kinds), "--fork", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    return ", ".join(kinds)


def _cgroups() -> str:
    hierarchies = find_hierarchies()
    if not hierarchies:
        raise Failed("no hierarchy is mounted")
    group = Group(one.folder / f"testbed-doctor-{secrets.token_hex(4)}" for one in hierarchies)
    try:
        group.make()
        group.limit(memory_mb=64, pids=16)
        limits = {name.partition(".")[0] for name in group.limits()}
    finally:
        group.remove()
    version = max(one.version for one in hierarchies if one.controllers or len(hierarchies) == 1)
    limited = " and ".join(sorted(limits)) or "nothing"
    return f"version {version}, can limit {limited}"


@contextmanager
def _netlink() -> Iterator[IPRoute]:
    """Netlink in a namespace of its own; what is made there ends with it."""
    with temporary() as namespace, inside(namespace), IPRoute() as netlink:
        yield netlink


def _veth() -> str:
    with _netlink() as netlink:
        netlink.link("add", ifname="here", kind="veth", peer="there")
    return "a pair was made"


def _interface(kind: str) -> Trial:
    def trial() -> str:
        with _netlink() as netlink:
            netlink.link("add", ifname="tried", kind=kind)
        return "one was made"

    return trial


def _htb() -> str:
    with _netlink() as netlink:
        netlink.link("add", ifname="here", kind="veth", peer="there")
        (index,) = netlink.link_lookup(ifname="here")
        netlink.tc("add", "htb", index, "1:", default=1)
    return "one was put on a link"


def _ability(failure: Callable[[], str], success: str) -> Trial:
    def trial() -> str:
        if why := failure():
            raise Failed(f"this kernel refuses it: {why}")
        return success

    return trial


_TRIALS: tuple[tuple[str, Trial, str, bool], ...] = (
    ("namespaces", _namespaces, OTHER_KERNEL, True),
    ("cgroups", _cgroups, "mount -t cgroup2 none /sys/fs/cgroup", True),
    ("veth", _veth, OTHER_KERNEL, True),
    ("bridge", _interface("bridge"), OTHER_KERNEL, True),
    (
        "TBF",
        _ability(lambda: abilities().without_rate, "rates hold"),
        f"without it links have no rate; {OTHER_KERNEL}",
        True,
    ),
    (
        "nftables",
        _ability(lambda: abilities().without_drops, "losses and partitions hold (numgen)"),
        "apt-get install nftables",
        True,
    ),
    (
        "netem",
        _ability(lambda: abilities().without_netem, "delay, jitter and the like hold"),
        f"without it delay, jitter, reorder, duplicate and corrupt are refused; {OTHER_KERNEL}",
        False,
    ),
    ("HTB", _htb, OTHER_KERNEL, False),
    ("IFB", _interface("ifb"), OTHER_KERNEL, False),
)

_PROGRAMS = (
    ("mnexec", "mininet", "runs programs on emulated hosts", True),
    ("brctl", "bridge-utils", "makes switches", True),
    ("iperf3", "iperf3", "measures links", False),
    ("debootstrap", "debootstrap", "makes the containers' image where no registry answers", False),
)


def _program(program: str, package: str, what: str, needed: bool) -> Check:
    found = shutil.which(program)
    if found is None:
        return Check(program, "missing", what, f"apt-get install {package}", needed)
    return Check(program, "ok", found, needed=needed)


def _docker() -> Check:
    """Not needed: without an engine machines are bare namespaces."""
    address = engine_address()
    if engine_answers(address):
        api = connect(address)
        version = api.version()["Version"]
        api.close()
        return Check("Docker", "ok", f"engine {version} at {address}")
    path = Path(address.removeprefix("unix://"))
    if path.exists() and not os.access(path, os.W_OK):
        return Check("Docker", "unknown", f"only root can ask {address}", AS_ROOT)
    if shutil.which("dockerd") is None:
        remedy = "apt-get install docker.io"
    elif Path("/run/systemd/system").exists():
        remedy = "systemctl start docker"
    else:
        remedy = "dockerd --bridge=none --iptables=false &"
    detail = f"no engine answers at {address}: --runtime auto takes namespaces"
    return Check("Docker", "missing", detail, remedy)


def _java() -> Check:
    remedy = "apt-get install openjdk-17-jre-headless"
    try:
        done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return Check("Java", "missing", "analyses run on Spark, which needs it", remedy)
    found = re.search(r'version "((\d+)[^"]*)"', done.stderr)
    if found is None or int(found[2]) < 17:
        which = found[1] if found else "unknown"
        return Check("Java", "missing", f"Spark needs 17 or newer, this is {which}", remedy)
    return Check("Java", "ok", found[1])


def _memory() -> Check:
    text = Path("/proc/meminfo").read_text()
    available = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    assert available is not None
    megabytes = int(available[1]) // 1024
    agents = megabytes // AGENT_MB
    detail = f"{megabytes} MB available: {agents} agents of {AGENT_MB} MB"
    if agents < SMALLEST_LAN:
        return Check("memory", "missing", detail, "end other programs, or add memory", needed=True)
    return Check("memory", "ok", detail, needed=True)
