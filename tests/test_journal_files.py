"""Journal files: whole under their names, or not there."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from testbed.journal_files import JournalFile

NAMES = ["journal.jsonl", "journal.jsonl.gz"]
LINE = b'{"record":"count"}\n'
BIG = b"".join(b"%d\n" % number for number in range(300_000))
"""More than is written at once."""


def read(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def write_and_fail(path: Path, data: bytes, error: type[BaseException]) -> None:
    with JournalFile(path) as journal:
        journal.write(data)
        raise error


def fill_disk_at(path: Path) -> None:
    """Let the device that is always full stand where the journal will be written."""
    path.with_name(path.name + ".part").symlink_to("/dev/full")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lines", [[], [LINE], [LINE, LINE + LINE, BIG, LINE], [BIG, BIG]])
def test_a_journal_holds_what_was_written_and_its_digest(
    tmp_path: Path, name: str, lines: list[bytes]
) -> None:
    path = tmp_path / name
    with JournalFile(path) as journal:
        for line in lines:
            journal.write(line)

    assert read(path) == b"".join(lines)
    assert journal.digest == hashlib.sha256(b"".join(lines)).hexdigest()
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_the_digest_does_not_depend_on_how_lines_were_handed_over_nor_on_compression(
    tmp_path: Path, name: str
) -> None:
    with JournalFile(tmp_path / "reference") as reference:
        reference.write(BIG)

    with JournalFile(tmp_path / name) as journal:
        for line in BIG.splitlines(keepends=True):
            journal.write(line)

    assert journal.digest == reference.digest


def test_compressed_files_of_the_same_lines_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with JournalFile(tmp_path / name) as journal:
            journal.write(BIG)

    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_until_it_is_closed_nothing_is_there_under_its_name(tmp_path: Path, name: str) -> None:
    with JournalFile(tmp_path / name) as journal:
        journal.write(BIG)
        assert [file.name for file in tmp_path.iterdir()] == [f"{name}.part"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_after_an_error_nothing_is_there_under_its_name(
    tmp_path: Path, name: str, error: type[BaseException]
) -> None:
    with pytest.raises(error):
        write_and_fail(tmp_path / name, BIG, error)

    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", [LINE, BIG], ids=["when it is closed", "when it is written"])
def test_a_full_disk_is_an_error_and_leaves_nothing_under_its_name(
    tmp_path: Path, name: str, data: bytes
) -> None:
    fill_disk_at(tmp_path / name)

    with pytest.raises(OSError, match="No space left"), JournalFile(tmp_path / name) as journal:
        journal.write(data)

    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", NAMES)
def test_what_went_wrong_first_is_what_is_told_though_the_disk_is_full(
    tmp_path: Path, name: str
) -> None:
    fill_disk_at(tmp_path / name)

    with pytest.raises(KeyboardInterrupt):
        write_and_fail(tmp_path / name, LINE, KeyboardInterrupt)


def test_an_older_journal_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(LINE)

    with pytest.raises(RuntimeError):
        write_and_fail(path, BIG, RuntimeError)

    assert path.read_bytes() == LINE
