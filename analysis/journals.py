"""Journals as DataFrames, a kind of line each; and a count of every line that is not in them.

Lines are read as text, once, and parsed by what they begin with: the kinds' fields share names but
not types. What cannot be read is counted by file, never dropped in silence.
"""

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import unquote, urlsplit

import msgspec
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from agents.core.journal import VERSION, Header
from analysis.errors import AnalysisError
from analysis.frames import frame
from analysis.runs import Run
from analysis.schema import CORRUPT, KINDS, defaults, line_kind, required, spark_type

KEY = ("folder", "point", "repetition")
"""What identifies one repetition of one point of one run folder, numbered as given."""

USED = (
    *("time", "kind", "agent", "community", "event", "topic", "hop", "upward", "size"),
    *("message", "duplicate", "parasite", "cause", "copies"),
)
"""The fields of a `Record` that some metric asks for; the others are not kept in memory."""


@dataclass(frozen=True)
class Journals:
    """Every frame has the columns of `KEY`; one whose kind of line is in no journal is `None`, so
    that nobody computes with it."""

    records: DataFrame | None
    """With `line`, which orders the lines of a file."""
    counts: DataFrame | None
    totals: DataFrame | None
    problems: tuple[str, ...]


@contextmanager
def read_journals(spark: SparkSession, runs: Sequence[Run]) -> Iterator[Journals]:
    """All lines of all runs, kept at hand until the block ends."""
    headers = {path: _header(path) for run in runs for path in run.journals}
    lines = _parsed(_placed(spark, runs, headers)).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        found, problems = _look(runs, headers, lines)
        usable = lines.where("usable and not torn")
        yield Journals(
            records=_of(usable, "record", ("line", *USED)) if "record" in found else None,
            counts=_of(usable, "count", ("count.*",)) if "count" in found else None,
            totals=_of(usable, "total", ("total.*",)) if "total" in found else None,
            problems=tuple(problems),
        )
    finally:
        lines.unpersist()


def _header(path: Path) -> Header | None:
    """A file's first line, or nothing if that is not a header."""
    try:
        with _open(path) as file:
            return msgspec.json.decode(file.readline(), type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def _placed(
    spark: SparkSession, runs: Sequence[Run], headers: Mapping[Path, Header | None]
) -> DataFrame:
    """Every line as text, with where it comes from."""
    folders = {path: number for number, run in enumerate(runs) for path in run.journals}
    columns = {
        **{"uri": "string", "folder": "int", "file": "string"},
        **{"usable": "boolean", "point": "long", "repetition": "long"},
    }
    if not folders:
        return frame(spark, {**columns, "line": "long", "value": "string"}, [])
    text = spark.read.text([_escaped(path) for path in folders])
    # What Spark calls a file is not what we call it: it writes names as in a URI.
    named = {path.absolute(): path for path in folders}
    places = []
    for uri in text.inputFiles():
        path = named[Path(unquote(urlsplit(uri).path))]
        header = headers[path]
        usable = header is not None and header.version == VERSION
        point, repetition = (header.point, header.repetition) if header else (0, 0)
        places.append((uri, folders[path], path.name, usable, point, repetition))
    lines = text.where("value != ''").select(
        F.input_file_name().alias("uri"), F.monotonically_increasing_id().alias("line"), "value"
    )
    return lines.join(F.broadcast(frame(spark, columns, places)), "uri")


def _parsed(lines: DataFrame) -> DataFrame:
    """A record's fields are columns, for there are many of them; the other kinds are structs."""
    value = F.col("value")
    read = lines.withColumn("line_kind", line_kind(value)).select(
        "*", *(_read(kind).alias(kind) for kind in KINDS)
    )
    torn = F.col("line_kind").isNull()
    for kind in KINDS:
        torn = torn | ((F.col("line_kind") == kind) & _is_torn(kind))
    own = [
        F.coalesce(*(F.col(f"{kind}.{name}") for kind in ("count", "total")), name).alias(name)
        for name in ("point", "repetition")
    ]
    usual = defaults(KINDS["record"])
    fields = [_or_default(f"record.{name}", usual.get(name)).alias(name) for name in USED]
    return read.select(
        *("folder", "file", "usable", "line", "line_kind"),
        F.coalesce(torn, F.lit(True)).alias("torn"),
        *own,
        *fields,
        *(F.col(kind).dropFields("point", "repetition").alias(kind) for kind in ("count", "total")),
    )


def _read(kind: str) -> Column:
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    value = F.when(F.col("line_kind") == kind, F.col("value"))
    return F.from_json(value, spark_type(KINDS[kind]), options)


def _is_torn(kind: str) -> Column:
    # Spark reads a line up to the end of its first object, whatever follows that.
    value = F.col("value")
    torn = F.col(f"{kind}.{CORRUPT}").isNotNull() | ~value.endswith("}") | value.contains("}{")
    for name in required(KINDS[kind]):
        torn = torn | F.col(f"{kind}.{name}").isNull()
    return torn


def _or_default(name: str, value: object) -> Column:
    return F.col(name) if value is None else F.coalesce(F.col(name), F.lit(value))


def _of(lines: DataFrame, kind: str, columns: Sequence[str]) -> DataFrame:
    return lines.where(F.col("line_kind") == kind).select(*KEY, *columns)


def _look(
    runs: Sequence[Run], headers: Mapping[Path, Header | None], lines: DataFrame
) -> tuple[set[str], list[str]]:
    """Which kinds of lines there are, and what is wrong."""
    kinds = [F.count_if(F.col("line_kind") == kind).alias(kind) for kind in KINDS]
    by_file = lines.groupBy("folder", "file").agg(
        F.count("*").alias("lines"), F.count_if("torn").alias("torn"), *kinds
    )
    try:
        rows = by_file.collect()
    except Exception:
        _raise_if_damaged(headers)
        raise
    found = {(row["folder"], row["file"]): row for row in rows}
    problems = [
        problem
        for number, run in enumerate(runs)
        for path in run.journals
        for problem in _problems(path, headers[path], found.get((number, path.name)))
    ]
    return {kind for kind in KINDS if any(row[kind] for row in rows)}, problems


def _problems(path: Path, header: Header | None, found: Row | None) -> Iterator[str]:
    if found is None:
        yield f"{path}: is empty"
        return
    if found["torn"]:
        yield f"{path}: {_lines_of(found['torn'])} torn and left out"
    if header is None:
        yield f"{path}: has no header, so its {_lines_of(found['lines'])} left out"
    elif header.version != VERSION:
        yield (
            f"{path}: is of version {header.version}, where this is version {VERSION}: "
            f"its {_lines_of(found['lines'])} left out"
        )


def _lines_of(count: int) -> str:
    return "1 line is" if count == 1 else f"{count} lines are"


def _raise_if_damaged(paths: Mapping[Path, object]) -> None:
    """Spark does not say which file it was that it could not decompress."""
    for path in paths:
        try:
            with _open(path) as file:
                while file.read(1 << 20):
                    pass
        except (OSError, EOFError, zlib.error) as error:
            raise _unreadable(path, error) from error


def _unreadable(path: Path, error: BaseException) -> AnalysisError:
    if isinstance(error, OSError) and error.strerror:
        return AnalysisError(f"{path} cannot be read: {error.strerror}")
    return AnalysisError(f"{path} cannot be read: it is damaged, or cut short")


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _escaped(path: Path) -> str:
    """Hadoop takes a path for a pattern."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", str(path.absolute()))
