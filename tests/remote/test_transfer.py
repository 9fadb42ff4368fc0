"""Files over a real SFTP: continued where they broke off, checked, and never in anybody's way."""

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.core.errors import LocalError
from testbed.remote import transfer
from testbed.remote.connection import Connection, Lost, Target
from testbed.remote.transfer import RemoteFile
from tests.remote.conftest import User
from tests.support.ssh_server import TARGET, Server

pytestmark = pytest.mark.root

CONTENT = bytes(range(256)) * 8000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
JOB = "job"


@pytest.fixture
def connection(server: Server, user: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.setenv("HOME", str(user.home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    connection = Connection(Target.parse(TARGET), user.identity)
    connection.open()
    yield connection
    connection.close()


@pytest.fixture
def remote(server: Server) -> RemoteFile:
    (server.home / "big file").write_bytes(CONTENT)
    return RemoteFile("big file", len(CONTENT), DIGEST)


class Counter:
    """Bytes that really went over the wire; what was there is told in one piece, and first."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def __call__(self, count: int) -> None:
        self.told.append(count)


class TestFetching:
    def fetch(
        self,
        connection: Connection,
        server: Server,
        file: RemoteFile,
        local: Path,
        counter: Counter,
    ) -> bool:
        return transfer.fetch(connection, f"{server.home}/{file.name}", file, local, JOB, counter)

    def test_the_rest_of_a_partial_file_is_fetched(
        self, connection: Connection, server: Server, remote: RemoteFile, tmp_path: Path
    ) -> None:
        (tmp_path / ".it.job.part").write_bytes(CONTENT[:1_500_000])
        counter = Counter()
        assert self.fetch(connection, server, remote, tmp_path / "it", counter)
        assert (tmp_path / "it").read_bytes() == CONTENT
        assert counter.told[0] == 1_500_000
        assert sum(counter.told) == len(CONTENT)
        assert not (tmp_path / ".it.job.part").exists()

    @pytest.mark.parametrize("wrong", [b"x" * 1000, b"x" * len(CONTENT), b"x" * 3_000_000])
    def test_a_partial_file_that_is_not_of_it_is_noticed_and_fetched_anew(
        self,
        connection: Connection,
        server: Server,
        remote: RemoteFile,
        tmp_path: Path,
        wrong: bytes,
    ) -> None:
        (tmp_path / ".it.job.part").write_bytes(wrong)
        assert self.fetch(connection, server, remote, tmp_path / "it", Counter())
        assert (tmp_path / "it").read_bytes() == CONTENT

    def test_what_does_not_arrive_as_it_is_there_is_an_error_and_not_a_file(
        self, connection: Connection, server: Server, remote: RemoteFile, tmp_path: Path
    ) -> None:
        other = RemoteFile(remote.name, remote.size, hashlib.sha256(b"other").hexdigest())
        with pytest.raises(LocalError, match="does not arrive as it is there"):
            self.fetch(connection, server, other, tmp_path / "it", Counter())
        assert not (tmp_path / "it").exists()

    def test_what_is_here_already_is_not_fetched(
        self, connection: Connection, server: Server, remote: RemoteFile, tmp_path: Path
    ) -> None:
        (tmp_path / "it").write_bytes(CONTENT)
        (server.home / remote.name).unlink()
        assert not self.fetch(connection, server, remote, tmp_path / "it", Counter())

    def test_another_file_of_that_name_is_kept(
        self, connection: Connection, server: Server, remote: RemoteFile, tmp_path: Path
    ) -> None:
        (tmp_path / "it").write_bytes(b"mine")
        assert self.fetch(connection, server, remote, tmp_path / "it", Counter())
        assert (tmp_path / "it").read_bytes() == CONTENT
        assert (tmp_path / "it.before-job").read_bytes() == b"mine"

    def test_a_cut_in_the_middle_leaves_a_part_that_is_continued(
        self, connection: Connection, server: Server, remote: RemoteFile, tmp_path: Path
    ) -> None:
        counter = Counter()

        def cut(count: int) -> None:
            counter(count)
            if sum(counter.told) > 500_000:
                server.cut()

        with pytest.raises(Lost):
            transfer.fetch(
                connection, f"{server.home}/{remote.name}", remote, tmp_path / "it", JOB, cut
            )
        part = (tmp_path / ".it.job.part").read_bytes()
        assert 500_000 < len(part) < len(CONTENT)
        assert part == CONTENT[: len(part)]
        connection.open()
        counter = Counter()
        assert self.fetch(connection, server, remote, tmp_path / "it", counter)
        assert counter.told[0] == len(part)
        assert (tmp_path / "it").read_bytes() == CONTENT


class TestSending:
    def test_a_partial_file_is_continued_and_a_wrong_one_replaced(
        self, connection: Connection, server: Server, tmp_path: Path
    ) -> None:
        (tmp_path / "it").write_bytes(CONTENT)
        (server.home / "good.part").write_bytes(CONTENT[:1_000_000])
        (server.home / "bad.part").write_bytes(b"x" * 1_000_000)
        counter = Counter()
        files = {"good": tmp_path / "it", "bad": tmp_path / "it", "a b/c": tmp_path / "it"}
        transfer.send(connection, files, str(server.home), counter)
        assert counter.told[0] == 1_000_000
        for name in files:
            assert (server.home / name).read_bytes() == CONTENT
        assert not [*server.home.rglob("*.part")]

    def test_what_is_there_already_is_not_sent(
        self, connection: Connection, server: Server, tmp_path: Path
    ) -> None:
        (tmp_path / "it").write_bytes(CONTENT)
        (server.home / "it").write_bytes(CONTENT)
        counter = Counter()
        transfer.send(connection, {"it": tmp_path / "it"}, str(server.home), counter)
        assert counter.told == []

    def test_a_full_disk_there_is_a_sentence(
        self, connection: Connection, server: Server, tmp_path: Path
    ) -> None:
        (tmp_path / "it").write_bytes(CONTENT)
        small = server.home / "small disk"
        small.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
        subprocess.run(server.inside(*mount), check=True)
        with pytest.raises(OSError, match="is the disk there full") as failed:
            transfer.send(connection, {"it": tmp_path / "it"}, str(small), Counter())
        assert str(failed.value).startswith(f"{TARGET}:{small}/it cannot be written (")

    def test_every_file_is_listed_with_size_and_digest_whatever_its_name(
        self, connection: Connection, server: Server
    ) -> None:
        (server.home / "runs").mkdir()
        name = "runs/new\nline \\ and ü"
        (server.home / name).write_bytes(b"abc")
        found = transfer.listing(connection, str(server.home), ["runs", "nowhere"])
        assert found == [RemoteFile(name, 3, hashlib.sha256(b"abc").hexdigest())]
