"""Journal files as engines leave them: whole, or not there under their names."""

import gzip
import hashlib
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_CHUNK = 1 << 20


class JournalFile:
    """One journal on disk, compressed if its name ends in `.gz`.

    The digest is over the lines, not over the compressed bytes, which depend on the machine's zlib.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_name(path.name + ".part")
        self._file = self._unfinished.open("wb")
        self._packed: gzip.GzipFile | None = None
        if path.suffix == ".gz":
            self._packed = gzip.GzipFile("", "wb", compresslevel=1, fileobj=self._file, mtime=0)
        self._hash = hashlib.sha256()
        self._lines: list[bytes] = []
        self._size = 0

    def write(self, line: bytes) -> None:
        """One line or several, each ending in a newline."""
        self._lines.append(line)
        self._size += len(line)
        if self._size >= _CHUNK:
            self._flush()

    @property
    def digest(self) -> str:
        """Of what has been written when the file was closed."""
        return self._hash.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            with suppress(OSError):  # what went wrong before is what matters
                self._close()
            return
        try:
            self._flush()
        finally:
            self._close()
        self._unfinished.replace(self._path)

    def _close(self) -> None:
        try:
            if self._packed is not None:
                self._packed.close()
        finally:
            self._file.close()

    def _flush(self) -> None:
        chunk = b"".join(self._lines)
        self._lines.clear()
        self._size = 0
        self._hash.update(chunk)
        (self._packed or self._file).write(chunk)
