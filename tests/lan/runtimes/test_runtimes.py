"""What holds for machines of either runtime."""

import json
import os
import secrets
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agents.core.errors import LocalError
from testbed.lan.ledger import Ledger
from testbed.lan.runtimes import (
    AGENT_UID,
    HostSpec,
    Runtime,
    RuntimeName,
    open_runtime,
    runtimes_of,
)
from testbed.lan.state import folder_of
from tests.support.waiting import wait_until

RUNTIMES = [
    pytest.param("namespace", marks=pytest.mark.root),
    pytest.param("docker", marks=pytest.mark.docker),
]
MACHINE = {
    **{"epoch_ns": 0, "run": "r", "seed": 1, "point": 0, "repetition": 0, "transport": "udp"},
    **{"addresses": [], "agents": [], "root": ".", "topics": [], "communities": {}},
    **{"interests": {}, "protocol": "camcast", "membership": "static", "parameters": {}},
    **{"membership_parameters": {}, "topic_parameters": {}, "configured": []},
}
START = """
import sys
from pathlib import Path
from testbed.lan.ledger import Ledger
from tests.lan.runtimes.test_runtimes import machines
from testbed.lan.runtimes import open_runtime
ledger = Ledger.create(Path(sys.argv[1]))
with ledger.hold():
    print("begun", flush=True)
    open_runtime(sys.argv[2], ledger.folder.name, ledger).start(machines(ledger, 4))
"""


def machines(ledger: Ledger, count: int) -> list[HostSpec]:
    """Machines without agents: their supervisors run and answer all the same."""
    specs = []
    for number in range(1, count + 1):
        name = f"host-{number}"
        folder = ledger.folder / "hosts" / name
        folder.mkdir(parents=True)
        (folder / "machine.json").write_text(json.dumps(MACHINE | {"host": number, "name": name}))
        specs.append(HostSpec(number, name, folder, memory_mb=64, pids=32))
    return specs


def ask_status(folder: Path) -> dict[str, object]:
    """What a supervisor says. Its socket is there a moment before it listens."""
    answer: dict[str, object] = {}

    def is_answered() -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                # The path may be too long for a socket's address; that of a descriptor is not.
                inside = os.open(folder, os.O_RDONLY)
                client.connect(f"/proc/self/fd/{inside}/supervisor.sock")
            except (FileNotFoundError, ConnectionRefusedError):
                return False
            finally:
                os.close(inside)
            client.sendall(b'{"id": 1, "do": "status"}\n')
            with client.makefile() as lines:
                answer.update(json.loads(lines.readline())["ok"])
            return True

    wait_until(is_answered, f"the supervisor in {folder} answers")
    return answer


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


@pytest.fixture(params=RUNTIMES)
def kind(request: pytest.FixtureRequest) -> RuntimeName:
    if request.param == "docker":
        request.getfixturevalue("engine")
    kind: RuntimeName = request.param
    return kind


@pytest.fixture
def ledger(state: Path) -> Iterator[Ledger]:
    name = f"t{secrets.token_hex(4)}"
    ledger = Ledger.create(folder_of(name))
    yield ledger
    for runtime in runtimes_of(name, ledger):
        runtime.remove_all()


@pytest.fixture
def runtime(kind: RuntimeName, ledger: Ledger) -> Runtime:
    return open_runtime(kind, ledger.folder.name, ledger)


class TestStarting:
    def test_every_machine_runs_its_supervisor(self, runtime: Runtime, ledger: Ledger) -> None:
        told: list[tuple[str, int, int]] = []
        pids = runtime.start(machines(ledger, 3), lambda *news: told.append(news))
        assert sorted(pids) == [1, 2, 3]
        assert told[-1][1:] == (3, 3)
        for number, pid in pids.items():
            assert runtime.pid(number) == pid
            status = ask_status(ledger.folder / "hosts" / f"host-{number}")
            assert status["name"] == f"host-{number}"

    def test_each_has_namespaces_of_its_own(self, runtime: Runtime, ledger: Ledger) -> None:
        pids = [os.getpid(), *runtime.start(machines(ledger, 2)).values()]
        for namespace in ("net", "mnt", "pid", "uts", "ipc"):
            assert len({os.readlink(f"/proc/{pid}/ns/{namespace}") for pid in pids}) == 3

    def test_machines_that_stand_may_wait_to_be_released(
        self, runtime: Runtime, ledger: Ledger
    ) -> None:
        runtime.stand(machines(ledger, 2))
        runtime.release()
        for number in (1, 2):
            ask_status(ledger.folder / "hosts" / f"host-{number}")

    def test_a_later_command_finds_them_by_the_ledger(
        self, runtime: Runtime, ledger: Ledger
    ) -> None:
        pids = runtime.start(machines(ledger, 2))
        (later,) = runtimes_of(ledger.folder.name, Ledger.open(ledger.folder))
        assert {number: later.pid(number) for number in later.specs()} == pids
        assert later.name == runtime.name

    def test_one_that_is_not_there_is_said_to_be_so(self, runtime: Runtime, ledger: Ledger) -> None:
        runtime.start(machines(ledger, 1))
        for call in (runtime.pid, runtime.kill, runtime.restart):
            with pytest.raises(LocalError, match="has no machine 7"):
                call(7)


class TestConfinement:
    def look(self, runtime: Runtime, script: str) -> str:
        done = runtime.exec(1, ["sh", "-c", script])
        return (done.stdout + done.stderr).decode()

    def test_a_machine_has_no_rights(self, runtime: Runtime, ledger: Ledger) -> None:
        pids = runtime.start(machines(ledger, 1))
        ask_status(ledger.folder / "hosts" / "host-1")
        seen = {
            "supervisor": Path(f"/proc/{pids[1]}/status").read_text(),
            "program": self.look(runtime, "cat /proc/self/status"),
        }
        for who, text in seen.items():
            fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
            assert fields["NoNewPrivs"] == "1", who
            assert set(fields["Uid"].split()) == {str(AGENT_UID)}, who
            assert set(fields["Gid"].split()) == {str(AGENT_UID)}, who
            for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                assert int(fields[kind], 16) == 0, (who, kind)

    def test_it_can_write_its_own_folder_and_tmp_alone(
        self, runtime: Runtime, ledger: Ledger
    ) -> None:
        runtime.start(machines(ledger, 1))
        for place in ("/run/testbed", "/tmp"):
            assert self.look(runtime, f"touch {place}/new") == ""
        for place in ("/", "/usr", "/etc", "/opt", "/var"):
            assert "annot touch" in self.look(runtime, f"touch {place}/new")
        assert (ledger.folder / "hosts" / "host-1" / "new").stat().st_uid == AGENT_UID

    def test_it_sees_no_file_process_or_link_of_this_computer(
        self, runtime: Runtime, ledger: Ledger, tmp_path: Path
    ) -> None:
        secret = tmp_path / "secret"
        secret.write_text("secret")
        runtime.start(machines(ledger, 2))
        assert "No such file" in self.look(runtime, f"cat {secret}")
        assert "No such file" in self.look(runtime, f"ls {ledger.folder}")
        numbers = [int(name) for name in self.look(runtime, "ls /proc").split() if name.isdigit()]
        assert 1 in numbers
        assert len(numbers) < 8
        links = self.look(runtime, "cut -d: -f1 -s /proc/net/dev").split()
        assert {link for link in links if "|" not in link} <= {"lo", "sit0", "tunl0"}

    def test_its_processes_are_limited(self, runtime: Runtime, ledger: Ledger) -> None:
        runtime.start(machines(ledger, 1))
        done = runtime.exec(
            1,
            ["sh", "-c", "for i in $(seq 100); do sleep 1000 >/dev/null 2>&1 & done; echo all"],
            timeout=100,
        )
        assert b"ork" in done.stderr  # cannot fork
        assert b"all" not in done.stdout

    def test_its_folder_is_closed_to_others(self, runtime: Runtime, ledger: Ledger) -> None:
        (spec,) = machines(ledger, 1)
        runtime.start([spec])
        found = spec.folder.stat()
        assert stat.S_IMODE(found.st_mode) == 0o700
        assert found.st_uid == AGENT_UID


class TestExec:
    def test_output_and_exit_code_come_back(self, runtime: Runtime, ledger: Ledger) -> None:
        runtime.start(machines(ledger, 1))
        done = runtime.exec(1, ["sh", "-c", "echo out; echo err >&2; hostname; exit 7"])
        assert (done.returncode, done.stdout, done.stderr) == (7, b"out\nhost-1\n", b"err\n")

    def test_what_takes_too_long_is_ended(self, runtime: Runtime, ledger: Ledger) -> None:
        runtime.start(machines(ledger, 1))
        with pytest.raises(subprocess.TimeoutExpired):
            runtime.exec(1, ["sleep", "1000"], timeout=0.5)


class TestCrashing:
    def test_a_killed_machine_is_gone_and_the_others_are_not(
        self, runtime: Runtime, ledger: Ledger
    ) -> None:
        pids = runtime.start(machines(ledger, 2))
        runtime.kill(1)
        assert runtime.pid(1) is None
        assert is_gone(pids[1])
        assert runtime.pid(2) == pids[2]
        with pytest.raises(LocalError, match="host-1 does not run"):
            runtime.exec(1, ["true"])

    def test_a_restarted_one_runs_in_a_new_network(self, runtime: Runtime, ledger: Ledger) -> None:
        before = runtime.start(machines(ledger, 1))[1]
        folder = ledger.folder / "hosts" / "host-1"
        ask_status(folder)
        with open(f"/proc/{before}/ns/net") as kept:  # so that its number is not given anew
            runtime.kill(1)
            after = runtime.restart(1)
            assert runtime.pid(1) == after != before
            networks = [os.stat(f"/proc/{pid}/ns/net") for pid in (after, os.getpid())]
            found = {entry.st_ino for entry in (os.fstat(kept.fileno()), *networks)}
            assert len(found) == 3
        assert ask_status(folder)["name"] == "host-1"


class TestRemoving:
    def test_nothing_is_left(self, runtime: Runtime, ledger: Ledger) -> None:
        pids = runtime.start(machines(ledger, 3))
        runtime.remove_all()
        assert all(is_gone(pid) for pid in pids.values())
        assert [runtime.pid(number) for number in (1, 2, 3)] == [None, None, None]

    def test_it_may_be_called_again(self, runtime: Runtime, ledger: Ledger) -> None:
        runtime.start(machines(ledger, 1))
        runtime.kill(1)
        runtime.remove_all()
        runtime.remove_all()

    def test_two_lans_live_side_by_side(
        self, kind: RuntimeName, runtime: Runtime, ledger: Ledger
    ) -> None:
        other_ledger = Ledger.create(folder_of(f"{ledger.folder.name}-2"))
        other = open_runtime(kind, other_ledger.folder.name, other_ledger)
        runtime.start(machines(ledger, 1))
        kept = other.start(machines(other_ledger, 1))[1]
        try:
            runtime.remove_all()
            assert other.pid(1) == kept
        finally:
            other.remove_all()

    @pytest.mark.parametrize("moment_s", [0.0, 0.1, 0.3, 0.6, 1.0])
    def test_what_a_killed_command_left_is_removed(
        self, kind: RuntimeName, ledger: Ledger, moment_s: float
    ) -> None:
        arguments = [sys.executable, "-c", START, str(ledger.folder), kind]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE) as command:
            assert command.stdout is not None
            command.stdout.readline()
            with suppress(subprocess.TimeoutExpired):  # the moment is the point of it
                command.wait(moment_s)
            command.kill()
        with ledger.hold():
            left = {
                pid
                for runtime in runtimes_of(ledger.folder.name, ledger)
                for number in runtime.specs()
                if (pid := runtime.pid(number)) is not None
            }
            for runtime in runtimes_of(ledger.folder.name, ledger):
                runtime.remove_all()
                assert all(runtime.pid(number) is None for number in runtime.specs())
            assert all(is_gone(pid) for pid in left)
            assert_no_trace_of(ledger.folder.name)


def assert_no_trace_of(name: str) -> None:
    """No control group and no process that works for the LAN."""
    groups = list(Path("/sys/fs/cgroup").glob(f"*/testbed-{name}-*"))
    groups += Path("/sys/fs/cgroup").glob(f"testbed-{name}-*")
    assert groups == []
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            groups_of_one = path.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # An orphan that ended is there until the system's first process has looked.
        assert f"testbed-{name}-" not in groups_of_one or is_gone(int(path.parent.name))
