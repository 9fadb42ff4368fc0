"""The Spark session: local by default, on loopback alone, and silent."""

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analysis.errors import AnalysisError

LOCAL = "local[*]"
_QUICK, _THOROUGH = "-XX:TieredStopAtLevel=1", ""
"""What the JVM is told of compiling its code."""
_CONF = Path(__file__).resolve().parent / "spark-conf"


@contextmanager
def session(
    master: str = LOCAL, memory: str = "4g", *, is_short: bool = False
) -> Iterator[SparkSession]:
    """A session that ends with the block. `memory` is the JVM's heap in this process. A short one
    starts in half the time, and takes twice as long for ten million records."""
    spark = _start(master, memory, _QUICK if is_short else _THOROUGH)
    try:
        yield spark
    finally:
        with _standard_error_in(None):
            spark.stop()


@contextmanager
def said_in_a_sentence() -> Iterator[None]:
    """Spark's own errors are pages long; what failed is in their first line."""
    try:
        yield
    except PySparkException as error:
        raise AnalysisError(f"Spark: {_first_line(error)}") from error
    except Exception as error:
        if type(error).__module__.startswith("py4j"):
            raise AnalysisError(f"Spark: {_first_line(error)}") from error
        raise


def _start(master: str, memory: str, compiler: str) -> SparkSession:
    _require_java()
    # It prints every error of a query with a page of the JVM's stack.
    logging.getLogger("DataFrameQueryContextLogger").disabled = True
    # Else it binds every interface, and asks a name server who it is.
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ.setdefault("SPARK_CONF_DIR", str(_CONF))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("testbed")
    for key, value in _settings(master, memory, compiler).items():
        builder = builder.config(key, value)
    with tempfile.TemporaryFile() as said:
        try:
            with _standard_error_in(said.fileno()):
                return builder.getOrCreate()
        except Exception as error:
            said.seek(0)
            last = said.read().decode(errors="replace").strip().splitlines()
            detail = last[-1] if last else _first_line(error)
            raise AnalysisError(f"Spark did not start on {master}: {detail}") from error


def _settings(master: str, memory: str, compiler: str) -> dict[str, str]:
    # What is kept is not put together again: Spark's usual 200 parts would be 200 small tasks.
    cores = len(os.sched_getaffinity(0))
    parts = {"spark.sql.shuffle.partitions": str(4 * cores)} if master.startswith("local") else {}
    return parts | {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -XX:+UseSerialGC {compiler}",
    }


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin/java").exists()):
        raise AnalysisError("Spark needs Java, and there is none: install openjdk-17-jre-headless")


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextmanager
def _standard_error_in(descriptor: int | None) -> Iterator[None]:
    """The JVM writes warnings of its own to the descriptor it inherits, whatever is configured."""
    kept = os.dup(2)
    target = os.open(os.devnull, os.O_WRONLY) if descriptor is None else descriptor
    try:
        os.dup2(target, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        if descriptor is None:
            os.close(target)
