"""Files both ways over SFTP: what broke off is continued, and all of it is checksummed at both ends.

A file that is under way has a name of its own, so that under its real name there is only ever a
whole one. What was there of it is not taken on trust: the checksum is of the whole file, and if it
is wrong the file is sent again from its beginning, once.
"""

import errno
import hashlib
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.core.errors import LocalError
from testbed.remote.connection import Connection

CHUNK = 1 << 18
PART = ".part"

Advance = Callable[[int], None]
"""Called with the number of bytes that are there now and were not before."""

LIST = r"""
cd "$1" || exit
shift
for place; do
  [ ! -e "$place" ] || find "$place" -type f -exec sha256sum -z -- {} +
done
"""
DIGESTS = 'cd "$1" && xargs -0 -r sha256sum -z -- 2>/dev/null || :'
"""Of those that are there."""
SIZES = 'cd "$1" && xargs -0 -r stat --printf "%s %n\\0" --'
MAKE_FOLDER = 'mkdir -p -- "$1"'
PUT_IN_PLACE = 'mv -T -- "$1" "$2"'


@dataclass(frozen=True)
class RemoteFile:
    name: str
    """From the folder that was listed."""
    size: int
    digest: str


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def listing(connection: Connection, root: str, places: Iterable[str]) -> list[RemoteFile]:
    """Every file at or under these places, which need not be there."""
    digests = _by_name(connection.run(LIST, root, *places), "  ")
    names = "".join(f"{name}\0" for name in digests)
    sizes = _by_name(connection.run(SIZES, root, given=os.fsencode(names)), " ")
    return [RemoteFile(name, int(sizes[name]), digest) for name, digest in digests.items()]


def send(connection: Connection, files: Mapping[str, Path], root: str, advance: Advance) -> None:
    """Each file to its name under `root`; those that are there already are not sent again."""
    wanted = {name: digest_of(path) for name, path in files.items()}
    names = os.fsencode("".join(f"{name}\0" for name in files))
    for attempt in range(3):
        there = _by_name(connection.run(DIGESTS, root, given=names), "  ")
        missing = [name for name, digest in wanted.items() if there.get(name) != digest]
        if not missing:
            return
        if attempt < 2:
            for name in missing:
                _send_one(connection, files[name], f"{root}/{name}", wanted[name], advance)
    raise LocalError(
        f"{files[missing[0]]} does not arrive at {connection.target} as it is here: it changes "
        "meanwhile, or a disk fails; try again"
    )


def fetch(
    connection: Connection, remote: str, file: RemoteFile, local: Path, job: str, advance: Advance
) -> bool:
    """One file to its place here. False if it was there. What else is there under that name is kept
    beside it, for it may be somebody's only copy."""
    if local.is_file() and digest_of(local) == file.digest:
        advance(file.size)
        return False
    local.parent.mkdir(parents=True, exist_ok=True)
    part = local.with_name(f".{local.name}.{job}{PART}")
    for _ in range(2):
        if part.exists() and part.stat().st_size > file.size:
            part.unlink()
        _fetch_rest(connection, remote, file.size, part, advance)
        if digest_of(part) == file.digest:
            if local.exists():
                local.rename(local.with_name(f"{local.name}.before-{job}"))
            part.rename(local)
            return True
        part.unlink()
        advance(-file.size)
    raise LocalError(
        f"{connection.target}:{remote} does not arrive as it is there (its SHA-256 is "
        f"{file.digest[:16]}…): look at the disks of both machines, and try again with --resume"
    )


def _fetch_rest(
    connection: Connection, remote: str, size: int, part: Path, advance: Advance
) -> None:
    with part.open("ab") as output, connection.noticing_a_cut():
        done = output.tell()
        advance(done)
        with connection.sftp.open(remote, "rb") as source:
            source.seek(done)
            source.prefetch(size)
            while done < size and (data := source.read(min(CHUNK, size - done))):
                output.write(data)
                done += len(data)
                advance(len(data))
        output.flush()
        # The copy there will be removed: this one must not be lost with the power.
        os.fsync(output.fileno())


def _send_one(
    connection: Connection, path: Path, remote: str, digest: str, advance: Advance
) -> None:
    part = remote + PART
    with path.open("rb") as source, connection.noticing_a_cut():
        connection.run(MAKE_FOLDER, posixpath.dirname(remote))
        done = _size(connection, part)
        if done > path.stat().st_size:
            connection.sftp.remove(part)
            done = 0
        source.seek(max(done, 0))
        advance(max(done, 0))
        with _blaming_the_disk(connection, remote):
            with connection.sftp.open(part, "ab") as output:
                output.set_pipelined(True)
                while data := source.read(CHUNK):
                    output.write(data)
                    advance(len(data))
            # What is pipelined may fail without a word.
            if (connection.sftp.stat(part).st_size or 0) < source.tell():
                raise OSError("only a part of it arrived")
    _finish(connection, part, remote, digest)


@contextmanager
def _blaming_the_disk(connection: Connection, remote: str) -> Iterator[None]:
    """SFTP has no word for a full disk: it is a failure like any other."""
    try:
        with connection.noticing_a_cut():
            yield
    except OSError as error:
        if error.errno is not None or error.strerror:
            raise
        raise OSError(
            f"{connection.target}:{remote} cannot be written ({error}): is the disk there full?"
        ) from None


def _finish(connection: Connection, part: str, remote: str, digest: str) -> None:
    """To its real name if it is whole; else it goes, so that it is sent from its beginning."""
    folder, name = posixpath.split(part)
    there = _by_name(connection.run(DIGESTS, folder, given=os.fsencode(f"{name}\0")), "  ")
    if there.get(name) == digest:
        connection.run(PUT_IN_PLACE, part, remote)
    else:
        with connection.noticing_a_cut():
            connection.sftp.remove(part)


def _size(connection: Connection, remote: str) -> int:
    """-1 if there is no such file."""
    try:
        with connection.noticing_a_cut():
            return connection.sftp.stat(remote).st_size or 0
    except OSError as error:
        if error.errno == errno.ENOENT:
            return -1
        raise


def _by_name(output: str, separator: str) -> dict[str, str]:
    """By name, what a NUL-separated list says of it in front of the name."""
    found = {}
    for line in output.split("\0"):
        value, _, name = line.partition(separator)
        if name:
            found[name] = value
    return found
