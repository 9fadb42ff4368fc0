"""Commands on another machine, over a real SSH server."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from subprocess import CompletedProcess, Popen
from threading import Thread

import pytest

from agents.core.errors import LocalError
from testbed.lan.state import require_root
from testbed.remote.connection import Connection, Target, Unreachable
from testbed.remote.session import Session
from testbed.remote.tree import Tree
from tests.remote.conftest import User
from tests.support.command_line import refusal
from tests.support.ssh_server import TARGET, Server, provide_environment, until

pytestmark = pytest.mark.root

EXPERIMENT = """
name: small
protocol: {name: ../protocols/mine.py:Mine}
membership: {name: static}
communities: {.: 4, .a: 10}
network: {latency: rounds}
workload: [{topic: .a, at: 1s}]
duration: 20s
"""
PROTOCOL = """
from agents.protocols.gossip import *
from agents.core.registry import protocols
Mine = protocols.load("gossip-broadcast")
"""


def go_on(server: Server, code: int = 0) -> None:
    (server.home / "go.new").write_text(str(code))
    (server.home / "go.new").rename(server.home / "go")


def busy(server: Server) -> list[Path]:
    return [*server.state.rglob("busy")]


class TestWithOurOwnCode:
    def test_it_is_sent_and_run_there_and_the_run_comes_back(
        self, server: Server, user: User
    ) -> None:
        provide_environment(server, user.source)
        done = user.run("simulate", "camcast-table-1", "--repetitions", "1", "--json")
        assert done.returncode == 0, done.stderr
        run = user.folder / json.loads(done.stdout)["run"]
        assert run.parent == user.folder / "runs"
        manifest = json.loads((run / "manifest.json").read_text())
        assert manifest["status"] == "done"
        assert {path.name for path in (run / "journal").iterdir()} == set(manifest["journals"])

        (code,) = (server.state / "code").iterdir()
        modified = (code / "bin/testbed").stat().st_ctime_ns
        assert user.run("protocols").stdout == user.run("protocols").stdout != ""
        assert [*(server.state / "code").iterdir()] == [code]
        assert (code / "bin/testbed").stat().st_ctime_ns == modified
        assert server.jobs() == user.notes() == []

    def test_files_that_the_command_names_are_there_too(self, server: Server, user: User) -> None:
        provide_environment(server, user.source)
        (user.folder / "experiments").mkdir()
        (user.folder / "protocols").mkdir()
        (user.folder / "experiments" / "small.yaml").write_text(EXPERIMENT)
        (user.folder / "protocols" / "mine.py").write_text(PROTOCOL)
        elsewhere = user.home / "elsewhere"
        absolute = user.folder / "experiments" / "small.yaml"
        done = user.run("simulate", absolute, "--out", elsewhere, "--json")
        assert done.returncode == 0, done.stderr
        (run,) = elsewhere.iterdir()
        assert (run / "experiment.yaml").read_text() == EXPERIMENT
        again = user.run(
            "simulate", "experiments/small.yaml", "--protocol", "protocols/mine.py:Mine"
        )
        assert again.returncode == 0, again.stderr

    def test_what_is_wrong_is_said_as_it_would_be_here(self, server: Server, user: User) -> None:
        provide_environment(server, user.source)
        (user.folder / "small.yaml").write_text(EXPERIMENT.replace("20s", "soon"))
        done = user.run("simulate", "small.yaml")
        assert done.returncode == 2
        assert "small.yaml:8:11: duration: " in done.stderr


WAITING_RM = """#!/bin/sh
# What removes a job waits for ever, once.
case $* in
  */jobs/*) if mkdir "$HOME/removing" 2>/dev/null; then exec sleep infinity; fi ;;
esac
exec /usr/bin/rm "$@"
"""
SLOW_TAR = """#!/bin/sh
# The first one waits to be told to go on.
if mkdir "$HOME/unpacking" 2>/dev/null; then
  while [ ! -e "$HOME/go" ]; do sleep 0.05; done
fi
exec /usr/bin/tar "$@"
"""


class TestTwoFirstCallsAtOnce:
    def test_one_unpacks_while_the_other_does(self, server: Server, user: User, tree: Tree) -> None:
        provide_environment(server, user.source)
        server.provide("tar", SLOW_TAR)
        slow = user.start("protocols")
        until((server.home / "unpacking").exists, "the first one unpacking")
        quick = user.run("protocols")
        go_on(server)
        output, errors = slow.communicate()
        assert (quick.returncode, quick.stderr) == (0, "")
        assert (slow.returncode, output, errors) == (0, quick.stdout, "")
        self.assert_all_of_the_code_is_there_once(server, tree)

    def test_one_sends_while_the_other_does(
        self,
        server: Server,
        user: User,
        tree: Tree,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("HOME", str(user.home))
        monkeypatch.chdir(user.folder)
        provide_environment(server, user.source)
        monkeypatch.setattr("testbed.remote.session.pack", lambda: tree)
        others: list[CompletedProcess[str]] = []

        @contextmanager
        def interrupted_by_the_other(what: str, _total: int) -> Iterator[Callable[[int], None]]:
            def advance(count: int) -> None:
                if count and what == "sending our code" and not others:
                    others.append(user.run("protocols"))

            yield advance

        monkeypatch.setattr("testbed.remote.session.progress", interrupted_by_the_other)
        connection = Connection(Target.parse(TARGET), user.identity)
        with closing(connection):
            assert Session(connection).run(["protocols"], {}, None) == 0
        assert [(other.returncode, other.stderr) for other in others] == [(0, "")]
        self.assert_all_of_the_code_is_there_once(server, tree)

    def assert_all_of_the_code_is_there_once(self, server: Server, tree: Tree) -> None:
        (code,) = (server.state / "code").iterdir()
        assert code.name == tree.name
        with tarfile.open(fileobj=io.BytesIO(tree.archive)) as archive:
            for entry in archive:
                content = archive.extractfile(entry)
                assert content is not None
                assert (code / entry.name).read_bytes() == content.read()


def test_what_calls_left_that_were_killed_is_cleared_away_after_a_while(
    server: Server, user: User, tree: Tree
) -> None:
    provide_environment(server, user.source)
    code = server.state / "code"
    (code / "0123.new.x").mkdir(parents=True)
    (code / "0123.new.x" / "file").touch()
    for name in ("0123.job.tar.gz.part", "4567.job.tar.gz.part", "89ab"):
        (code / name).touch()
    for name in ("0123.new.x", "0123.job.tar.gz.part", "89ab"):
        os.utime(code / name, (0, 0))
    assert user.run("protocols").returncode == 0
    kept = {"4567.job.tar.gz.part", "89ab", tree.name}
    assert {path.name for path in code.iterdir()} == kept


class TestStreamsAndCodes:
    @pytest.mark.parametrize("code", [0, 1, 42])
    def test_the_exit_code_is_the_commands(
        self, server: Server, user: User, stand_in: str, code: int
    ) -> None:
        go_on(server, code)
        done = user.run(stand_in, "simulate", "a b", "*", "")
        assert done.returncode == code
        assert done.stdout == "words: simulate a b * \nwent on\n"
        problem, brought = done.stderr.splitlines()
        assert problem == "a problem"
        assert brought == f"testbed: brought back 2 files from {TARGET}"
        assert (user.folder / "runs/a-run/journal/peer.jsonl").read_bytes() == b"x" * 300_000

    def test_output_comes_as_it_is_printed(self, server: Server, user: User, stand_in: str) -> None:
        process = user.start(stand_in, "simulate")
        assert process.stdout is not None
        assert process.stdout.readline() == "words: simulate\n"
        go_on(server)
        assert process.communicate()[0] == "went on\n"

    def test_a_folder_without_the_project_is_refused(self, server: Server, user: User) -> None:
        done = user.run("--remote-path", "nowhere", "simulate")
        assert (done.returncode, refusal(done)) == (
            2,
            f"{TARGET} has no bin/testbed in nowhere: put a checkout there, or leave out "
            "--remote-path, and this code is sent",
        )


def test_what_takes_root_there_tells_whom_to_log_in_as(
    server: Server, user: User, stand_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(LocalError) as refused:
        require_root("a LAN")
    launcher = server.home / "checkout/bin/testbed"
    launcher.write_text(f"#!/bin/sh\necho 'testbed: {refused.value}' >&2\nexit 2\n")
    done = user.run(stand_in, "up", "--topology", "smoke")
    assert done.returncode == 2
    said, hint = done.stderr.splitlines()
    assert said == f"testbed: {refused.value}"
    assert f"`testbed --on {TARGET} up --topology smoke`" in hint


class TestInterrupting:
    def test_the_command_there_cleans_up_and_its_results_come_back(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        process = user.start(stand_in, "simulate")
        assert process.stdout is not None
        process.stdout.readline()
        until(lambda: [*server.state.rglob("manifest.json")], "the run")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate()
        assert process.returncode == 130
        assert output == "interrupted, cleaning up\n"
        assert (user.folder / "runs/a-run/manifest.json").exists()
        assert server.jobs() == user.notes() == busy(server) == []

    def test_a_second_one_leaves_it_and_it_can_be_picked_up(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        launcher = server.home / "checkout/bin/testbed"
        launcher.write_text(launcher.read_text().replace("exit 130'", "'"))
        process = user.start(stand_in, "simulate")
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted, cleaning up\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        assert process.returncode == 130
        assert f"`testbed --on {TARGET} --resume` picks it up" in errors
        go_on(server, 7)
        done = user.run("--resume")
        assert (done.returncode, done.stdout) == (7, "went on\n")
        assert server.jobs() == user.notes() == []


def has_some(paths: list[Path]) -> bool:
    with suppress(FileNotFoundError):
        return any(path.stat().st_size for path in paths)
    return False


@contextmanager
def slowly(server: Server) -> Iterator[None]:
    """As long as this lasts, files take a while in both directions."""
    here = ["tc", "qdisc"]
    there = server.inside("tc", "qdisc")
    rate = ["root", "tbf", "rate", "8mbit", "burst", "64kb", "latency", "400ms"]
    for tool, wire in ((here, "client"), (there, "eth0")):
        subprocess.run([*tool, "add", "dev", wire, *rate], check=True)
    yield
    for tool, wire in ((here, "client"), (there, "eth0")):
        subprocess.run([*tool, "del", "dev", wire, "root"], check=True)


def test_how_far_files_have_come_is_shown_on_a_terminal(
    server: Server, user: User, stand_in: str
) -> None:
    (user.folder / "big.bin").write_bytes(bytes(4_000_000))
    launcher = server.home / "checkout/bin/testbed"
    launcher.write_text("#!/bin/sh\nmkdir runs && cp big.bin runs/copy\n")
    terminal = user.on_a_terminal(stand_in, "simulate", "big.bin", identity=user.identity)
    code, shown = terminal.end()
    assert code == 0, shown
    for what in ("sending files", "bringing back"):
        assert re.search(rf"{what} .*/4\.0 MB", shown), shown


class TestACutConnection:
    def test_nothing_is_lost_when_the_session_ends(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        process = user.start(stand_in, "simulate")
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "words: simulate\n"
        assert process.stderr.readline() == "a problem\n"
        assert server.cut() == 1
        assert "was cut" in process.stderr.readline()
        go_on(server, 5)
        output, errors = process.communicate()
        assert (process.returncode, output) == (5, "went on\n")
        assert "connected to" in errors
        assert (user.folder / "runs/a-run/journal/peer.jsonl").read_bytes() == b"x" * 300_000

    def test_nothing_is_lost_when_the_cable_is_pulled(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        process = user.start(stand_in, "simulate")
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stderr.readline()
        server.disconnect()
        go_on(server)
        assert "was cut" in process.stderr.readline()
        server.connect()
        output, _ = process.communicate()
        assert (process.returncode, output) == (0, "went on\n")

    @pytest.mark.parametrize("there", [True, False], ids=["sending", "bringing back"])
    def test_nothing_is_lost_when_files_are_under_way(
        self, server: Server, user: User, stand_in: str, there: bool
    ) -> None:
        content = bytes(range(256)) * 40_000
        (user.folder / "big.bin").write_bytes(content)
        launcher = server.home / "checkout/bin/testbed"
        launcher.write_text("#!/bin/sh\nmkdir runs && cp big.bin runs/copy\n")
        parts = server.state if there else user.folder
        with slowly(server):
            process = user.start(stand_in, "simulate", "big.bin")
            until(lambda: has_some([*parts.rglob("*.part")]), "a file under way")
            assert server.cut() == 1
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        assert errors.count("was cut; trying again") == 1
        assert (user.folder / "runs/copy").read_bytes() == content
        assert not [*user.folder.rglob("*.part")]
        assert server.jobs() == user.notes() == []

    def test_a_command_that_ended_meanwhile_is_picked_up_by_the_next_call(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        process = user.start(stand_in, "simulate")
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        process.communicate()
        go_on(server, 3)
        (job,) = server.jobs()
        until((job / "code").exists, "the end")
        done = user.run("--resume")
        assert done.returncode == 3
        assert done.stdout == "words: simulate\nwent on\n"
        assert (user.folder / "runs/a-run/manifest.json").exists()
        again = user.run("--resume")
        assert again.returncode == 2
        assert refusal(again) == f"nothing was left on {TARGET}: there is nothing to resume"

    def test_who_gives_up_is_told_how_to_go_on(
        self,
        server: Server,
        user: User,
        stand_in: str,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("HOME", str(user.home))
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        monkeypatch.chdir(user.folder)

        def pull_the_cable() -> None:
            until(lambda: busy(server), "the command")
            server.disconnect()

        cable = Thread(target=pull_the_cable)
        cable.start()
        session = Session(Connection(Target.parse(TARGET), user.identity), patience_s=0)
        with pytest.raises(Unreachable, match="cannot be reached"):
            session.run(["simulate"], {"--out": Path("runs")}, "checkout")
        cable.join()
        assert f"`testbed --on {TARGET} --resume` picks it up" in capfd.readouterr().err
        server.connect()
        go_on(server)
        done = user.run("--resume")
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "went on")
        assert server.jobs() == user.notes() == []


class TestPickingUp:
    def start(self, user: User, *words: str) -> Popen[str]:
        process = user.start(*words)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("words: ")
        return process

    def leave(self, user: User, *words: str) -> None:
        process = self.start(user, *words)
        process.kill()
        process.communicate()

    def test_one_job_is_not_followed_twice(self, server: Server, user: User, stand_in: str) -> None:
        process = self.start(user, stand_in, "simulate")
        done = user.run("--resume")
        assert done.returncode == 2
        assert "another testbed follows job" in refusal(done)
        go_on(server)
        process.communicate()
        assert process.returncode == 0

    def in_order(self, user: User) -> list[str]:
        """The last words of what was left, in the order in which it will be picked up."""
        return [
            json.loads(path.read_bytes())["command"][-1]
            for path in user.notes()
            if path.suffix == ".json"
        ]

    def test_one_that_is_followed_keeps_nobody_from_the_next(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        processes = {word: self.start(user, stand_in, "simulate", word) for word in "ab"}
        older, younger = self.in_order(user)
        processes[older].send_signal(signal.SIGSTOP)
        processes[younger].kill()
        processes[younger].communicate()
        go_on(server, 3)
        done = user.run("--resume")
        processes[older].send_signal(signal.SIGCONT)
        processes[older].communicate()
        assert done.returncode == 3
        assert done.stdout == f"words: simulate {younger}\nwent on\n"
        assert processes[older].returncode == 3
        assert server.jobs() == user.notes() == []

    def test_one_that_is_gone_there_is_told_of_once_and_the_next_picked_up(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        for word in ("a b", "c d"):
            self.leave(user, stand_in, "simulate", word)
        gone, kept = self.in_order(user)
        go_on(server, 3)
        until(lambda: not busy(server), "the end")
        shutil.rmtree(server.jobs()[0])
        done = user.run("--resume")
        assert done.returncode == 3
        assert done.stdout == f"words: simulate {kept}\nwent on\n"
        lost = f"`testbed simulate '{gone}'` of {user.folder} is no longer on {TARGET}"
        assert lost in done.stderr
        assert server.jobs() == user.notes() == []

    def test_when_the_only_one_is_gone_there_is_nothing_to_resume(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        self.leave(user, stand_in, "simulate")
        go_on(server)
        until(lambda: not busy(server), "the end")
        shutil.rmtree(server.state)
        done = user.run("--resume")
        assert done.returncode == 2
        lost, nothing = done.stderr.splitlines()
        assert "its results are lost" in lost
        assert nothing.startswith(f"testbed: nothing else was left on {TARGET}: ")
        assert user.notes() == []

    def test_what_was_brought_back_before_it_could_be_removed_there_is_not_lost(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        server.provide("rm", WAITING_RM)
        go_on(server, 3)
        process = user.start(stand_in, "simulate")
        until((server.home / "removing").exists, "the removal")
        process.kill()
        process.communicate()
        (job,) = server.jobs()
        shutil.rmtree(job)
        done = user.run("--resume")
        assert done.returncode == 3
        assert "lost" not in done.stderr
        assert (user.folder / "runs/a-run/manifest.json").exists()
        assert server.jobs() == user.notes() == []
