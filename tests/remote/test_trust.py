"""Whom we trust and who trusts us: host keys and authentication, against a real SSH server."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread

import paramiko
import pytest

from testbed.remote.connection import Connection, Refused, Target, Unreachable
from tests.remote.conftest import User
from tests.support.command_line import refusal
from tests.support.ssh_server import PORT, SERVER, TARGET, Server, make_key, until

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
        done = user.run_without_identity(stand_in, "simulate")
        assert done.returncode == 0, done.stderr

    def test_a_usual_file_that_cannot_be_used_is_passed_over(
        self, server: Server, user: User, stand_in: str
    ) -> None:
        make_key(user.home / ".ssh" / "id_ed25519", "open sesame")
        (user.home / ".ssh" / "id_ecdsa").write_text("garbage")
        done = user.run_without_identity(stand_in, "simulate")
        assert done.returncode == 2
        said = refusal(done)
        assert said.startswith(f"{TARGET} was offered no key ({user.home}/.ssh/id_ed25519 needs a ")
        assert "id_ecdsa is no private key" in said
        shutil.copy(server.folder / "identity", user.home / ".ssh" / "id_rsa")
        (server.home / "go").write_text("0")
        done = user.run_without_identity(stand_in, "simulate")
        assert done.returncode == 0, done.stderr

    def test_an_agents_key_is_offered(self, server: Server, user: User, stand_in: str) -> None:
        (server.home / "go").write_text("0")
        with agent(user.home / "agent") as environment:
            command = ["ssh-add", str(server.folder / "identity")]
            subprocess.run(command, env=environment, capture_output=True, check=True)
            done = user.run_without_identity(stand_in, "simulate", **environment)
            assert done.returncode == 0, done.stderr
            other = make_key(server.folder / "other")
            shutil.copy(other.with_suffix(".pub"), server.folder / "authorized_keys")
            done = user.run_without_identity(stand_in, "simulate", **environment)
        assert done.returncode == 2
        offered = fingerprint(server.folder / "identity.pub")
        assert f"took none of the keys offered (the agent's {offered})" in refusal(done)

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
        terminal = user.on_a_terminal(stand_in, "simulate", identity=locked)
        terminal.shown_until(f"Passphrase of {locked}: ")
        for wrong in ("wrong", "wrong again"):
            terminal.answer(wrong)
            terminal.shown_until(f"That is not it. Passphrase of {locked}: ")
        terminal.answer("open sesame")
        code, shown = terminal.end()
        assert code == 9, shown
        assert "33 99\r\n" in shown
        assert "on a terminal\r\n" in shown
        assert "sesame" not in shown

    def test_a_passphrase_is_asked_for_three_times(self, server: Server, user: User) -> None:
        locked = make_key(server.folder / "locked", "open sesame")
        terminal = user.on_a_terminal("protocols", identity=locked)
        for _ in range(3):
            terminal.shown_until(f"Passphrase of {locked}: ")
            terminal.answer("wrong")
        assert "Passphrase of" not in terminal.shown_until("the passphrase is wrong")
        assert terminal.end()[0] == 2


@contextmanager
def agent(path: Path) -> Iterator[dict[str, str]]:
    """An ssh-agent without keys, as long as this lasts."""
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.PIPE) as process:
        try:
            until(path.exists, "the agent's socket")
            yield {"SSH_AUTH_SOCK": str(path)}
        finally:
            process.kill()


class Door(paramiko.ServerInterface):
    """Turns away as many keys as it is told, and then hangs up."""

    def __init__(self, transport: paramiko.Transport, refusals: int) -> None:
        self._transport = transport
        self._refusals = refusals

    def get_allowed_auths(self, _username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, _username: str, _key: paramiko.PKey) -> int:
        if self._refusals == 0:
            self._transport.close()
        self._refusals -= 1
        return paramiko.AUTH_FAILED


@contextmanager
def door(server: Server, refusals: int) -> Iterator[Target]:
    """A server here which lets in nobody and hangs up in the middle of it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def serve() -> None:
            wire, _ = listening.accept()
            transport = paramiko.Transport(wire)
            transport.add_server_key(paramiko.Ed25519Key.from_private_key_file(str(host_key)))
            transport.start_server(server=Door(transport, refusals))
            transport.join()

        host_key = server.folder / "host_key"
        thread = Thread(target=serve)
        thread.start()
        try:
            yield Target("me", "127.0.0.1", port)
        finally:
            thread.join()


class TestAServerThatHangsUp:
    @pytest.fixture
    def home(self, server: Server, user: User, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("HOME", str(user.home))
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        key = (server.folder / "host_key.pub").read_text()
        user.known_hosts.write_text(f"127.0.0.1 {key}")
        for name in ("id_ed25519", "id_ecdsa"):
            make_key(user.home / ".ssh" / name)
        return user.home

    def test_before_it_refused_a_key_may_be_tried_again(self, server: Server, home: Path) -> None:
        with (
            door(server, refusals=0) as target,
            closing(Connection(target)) as connection,
            pytest.raises(Unreachable, match="hung up while we logged in"),
        ):
            connection.open()

    def test_after_it_refused_one_has_had_enough_of_us(self, server: Server, home: Path) -> None:
        with (
            door(server, refusals=1) as target,
            closing(Connection(target)) as connection,
            pytest.raises(Refused, match="took none of the keys offered"),
        ):
            connection.open()


class TestComingBack:
    def test_the_key_that_was_taken_is_offered_first(
        self, server: Server, user: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(user.home))
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        make_key(user.home / ".ssh" / "id_ed25519")
        shutil.copy(server.folder / "identity", user.home / ".ssh" / "id_rsa")
        with closing(Connection(Target.parse(TARGET))) as connection:
            connection.open()
            refused = server.log.count("Failed publickey")
            assert refused == 1
            connection.open()
        assert server.log.count("Accepted publickey") == 2
        assert server.log.count("Failed publickey") == refused
