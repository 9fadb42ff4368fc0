"""What is measured of the analysis, each part to be called in a process of its own."""

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.job import analyse_with
from analysis.runs import read_runs
from analysis.session import session

PHASES = ("reading and parsing", "what events did", "what runs did, and conservation")


@dataclass
class Job:
    seconds: float = 0.0
    """Spark's start included."""
    cpu: float = 0.0
    """Of the JVM; what Python does here is next to nothing."""
    phases: dict[str, tuple[float, float]] = field(default_factory=dict)
    sent: int = 0
    received: int = 0


def start_up() -> float:
    began = time.perf_counter()
    with session():
        pass
    return time.perf_counter() - began


def command(run: Path) -> float:
    """As a user waits for it."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "testbed", "analyze", str(run)], check=True, capture_output=True
    )
    return time.perf_counter() - began


def job(run: Path) -> Job:
    found = Job()
    began = time.perf_counter()
    with session() as spark:
        marks = [(time.perf_counter(), _cpu(spark))]
        found.phases["starting"] = (marks[0][0] - began, marks[0][1])

        def progress(done: int, total: int) -> None:
            marks.append((time.perf_counter(), _cpu(spark)))
            (before, cpu_before), (now, cpu) = marks[-2:]
            found.phases[PHASES[len(marks) - 2]] = (now - before, cpu - cpu_before)

        result = analyse_with(spark, read_runs([run]), progress)
        found.cpu = marks[-1][1]
    found.seconds = time.perf_counter() - began
    found.sent = sum(row["sent"] for row in result.conservation)
    found.received = sum(row["received"] for row in result.conservation)
    return found


def _cpu(spark: SparkSession) -> float:
    """Seconds that the JVM has spent on all cores."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    pid = jvm.java.lang.ProcessHandle.current().pid()
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / 100
