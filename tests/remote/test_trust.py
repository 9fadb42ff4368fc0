"""Whom we trust and who trusts us: host keys and authentication, against a real SSH server."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.remote.conftest import User
from tests.support.command_line import refusal
from tests.support.ssh_server import PORT, SERVER, TARGET, Server, make_key

pytestmark = pytest.mark.root


def fingerprint(public_key: Path) -> str:
    command = ["ssh-keygen", "-lf", str(public_key)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[1]


class TestHostKeys:
    def test_an_unknown_one_is_shown_and_not_accepted(self, server: Server, user: User) -> None:
        user.known_hosts.unlink()
        done = user.run("protocols")
        assert done.returncode == 2
        said = refusal(done)
        assert said.startswith(f"[{SERVER}]:{PORT} is not in ~/.ssh/known_hosts, and shows the ")
        assert fingerprint(server.folder / "host_key.pub") in said
        assert f"`ssh -p {PORT} root@{SERVER}` adds it" in said
        assert not user.known_hosts.exists()
        assert "Accepted" not in server.log

    def test_a_changed_one_is_shown_beside_the_known_one(self, server: Server, user: User) -> None:
        other = make_key(server.folder / "other")
        user.know(other.with_suffix(".pub"))
        before = user.known_hosts.read_text()
        done = user.run("protocols")
        assert done.returncode == 2
        said = refusal(done)
        assert fingerprint(server.folder / "host_key.pub") in said
        assert fingerprint(other.with_suffix(".pub")) in said
        assert f"`ssh-keygen -R '[{SERVER}]:{PORT}'`" in said
        assert user.known_hosts.read_text() == before
        assert "Accepted" not in server.log

    def test_a_revoked_one_is_refused_although_it_is_known(
        self, server: Server, user: User
    ) -> None:
        line = user.known_hosts.read_text()
        user.known_hosts.write_text(f"{line}@revoked {line}")
        done = user.run("protocols")
        assert done.returncode == 2
        assert "marks as revoked" in refusal(done)

    def test_one_that_is_revoked_for_all_hosts_is_refused_although_it_is_known(
        self, server: Server, user: User
    ) -> None:
        line = user.known_hosts.read_text()
        _, key = line.split(" ", 1)
        user.known_hosts.write_text(f"{line}@revoked\t*\t{key}")
        done = user.run("protocols")
        assert done.returncode == 2
        assert "marks as revoked" in refusal(done)
        assert "Accepted" not in server.log

    def test_one_that_is_known_for_the_name_alone_will_do_for_any_port(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        _, key = user.known_hosts.read_text().split(" ", 1)
        user.known_hosts.write_text(f"{SERVER} {key}")
        (server.home / "go").write_text("0")
        assert user.run(stand_in, "simulate").returncode == 0
        user.known_hosts.write_text(f"{SERVER} {key}@revoked {SERVER} {key}")
        assert "marks as revoked" in refusal(user.run(stand_in, "simulate"))

    def test_one_of_several_and_a_hashed_name_will_do(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        line = user.known_hosts.read_text()
        user.know(make_key(server.folder / "other").with_suffix(".pub"))
        user.known_hosts.write_text(user.known_hosts.read_text() + line)
        command = ["ssh-keygen", "-q", "-H", "-f", str(user.known_hosts)]
        subprocess.run(command, capture_output=True, check=True)
        hashed = user.known_hosts.read_text()
        assert SERVER not in hashed
        user.known_hosts.write_text(f"garbage\n\n# a comment\n{hashed}")
        (server.home / "go").write_text("0")
        assert user.run(stand_in, "simulate").returncode == 0


class TestAuthentication:
    def test_a_key_that_is_not_authorised_is_named(self, server: Server, user: User) -> None:
        wrong = make_key(server.folder / "wrong")
        done = user.run("protocols", identity=wrong)
        assert done.returncode == 2
        said = refusal(done)
        assert said.startswith(f"{TARGET} took none of the keys offered ({wrong}): ")
        assert "--identity FILE" in said

    def test_a_file_that_is_no_key_is_refused(self, server: Server, user: User) -> None:
        done = user.run("protocols", identity=server.folder / "sshd_config")
        assert done.returncode == 2
        assert "sshd_config is no private key" in refusal(done)

    def test_the_usual_files_are_tried(self, server: Server, user: User, stand_in: str) -> None:
        shutil.copy(server.folder / "identity", user.home / ".ssh" / "id_ed25519")
        (server.home / "go").write_text("0")
        command = [sys.executable, "-m", "testbed", "--on", TARGET, stand_in, "simulate"]
        done = subprocess.run(command, cwd=user.folder, env=user.environment, capture_output=True)
        assert done.returncode == 0, done.stderr

    def test_a_passphrase_without_a_terminal_is_a_sentence(
        self, server: Server, user: User
    ) -> None:
        locked = make_key(server.folder / "locked", "open sesame")
        done = user.run("protocols", identity=locked)
        assert done.returncode == 2
        assert refusal(done) == (
            f"{locked} needs a passphrase and there is no terminal to ask for it: "
            f"add the key to your agent with ssh-add {locked}"
        )

    def test_a_passphrase_is_asked_for_on_the_terminal_which_the_command_gets_too(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        locked = make_key(server.folder / "locked", "open sesame")
        shutil.copy(locked.with_suffix(".pub"), server.folder / "authorized_keys")
        launcher = server.home / "checkout" / "bin" / "testbed"
        launcher.write_text("#!/bin/sh\nstty size\ntest -t 1 && echo on a terminal >&2\nexit 9\n")
        options = ["--on", TARGET, "--identity", str(locked), stand_in]
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(user.folder)
            command = [sys.executable, "-m", "testbed", *options, "simulate"]
            os.execve(sys.executable, command, user.environment | {"LINES": "33", "COLUMNS": "99"})
        assert f"Passphrase of {locked}: " in read_until(terminal, "Passphrase of")
        os.write(terminal, b"wrong\n")
        assert "That is not it." in read_until(terminal, "Passphrase of")
        os.write(terminal, b"open sesame\n")
        rest = read_until(terminal, None)
        _, status = os.waitpid(process, 0)
        os.close(terminal)
        assert os.waitstatus_to_exitcode(status) == 9, rest
        assert "33 99\r\n" in rest
        assert "on a terminal\r\n" in rest
        assert "sesame" not in rest


def read_until(terminal: int, words: str | None) -> str:
    """What is shown up to these words and the colon after them, or to the end."""
    shown = ""
    while words is None or words not in shown or not shown.endswith(": "):
        try:
            data = os.read(terminal, 4096)
        except OSError:  # how a terminal says that the other side is closed
            break
        if not data:
            break
        shown += data.decode()
    return shown
