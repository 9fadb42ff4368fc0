"""The same job wherever it runs: in this process, on a cluster, and through `spark-submit`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.job import analyse_with
from analysis.runs import read_runs
from tests.analysis.folders import simulated
from tests.support.command_line import REPOSITORY, run
from tests.support.spark_cluster import SPARK_HOME, spark_cluster

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[Path]:
    network = {"latency": "rounds", "loss": "$loss"}
    swept = {"network": network, "sweep": {"loss": [0, 0.3]}, "repetitions": 3}
    return [simulated(folder / "runs", journal=level, **swept) for level in ("full", "counts")]


@pytest.fixture(scope="module")
def local(spark: SparkSession, runs: list[Path]) -> dict[str, Any]:
    """As the data that `--json` prints."""
    data: dict[str, Any] = json.loads(json.dumps(analyse_with(spark, read_runs(runs)).as_data()))
    assert data["metrics"]
    assert data["problems"] == []
    return data


@pytest.fixture(scope="module")
def master(folder: Path) -> Iterator[str]:
    with spark_cluster(folder / "spark") as address:
        yield address


def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Sums of fractions may differ in their last digit, by the order in which parts come in."""
    metrics = [
        {key: pytest.approx(value, rel=1e-12) if isinstance(value, float) else value}
        for row in expected["metrics"]
        for key, value in row.items()
    ]
    return {**found, "metrics": None} == {**expected, "metrics": None} and [
        {key: value} for row in found["metrics"] for key, value in row.items()
    ] == metrics


def test_a_cluster_of_two_workers_gives_the_same_table(
    tmp_path: Path, master: str, runs: list[Path], local: dict[str, Any]
) -> None:
    done = run(tmp_path, "analyze", *map(str, runs), "--master", master, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert same(json.loads(done.stdout), local)


def submit(master: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Spark's usual 200 parts would be 200 tasks for next to nothing.
    few = ("--conf", "spark.sql.shuffle.partitions=4", "--conf", "spark.ui.enabled=false")
    options = ("--master", master, *few)
    return subprocess.run(
        [SPARK_HOME / "bin/spark-submit", *options, "analysis/job.py", *arguments],
        cwd=REPOSITORY,
        env={
            **os.environ,
            "PYTHONPATH": ".",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_CONF_DIR": str(REPOSITORY / "analysis/spark-conf"),
        },
        capture_output=True,
        text=True,
    )


def test_spark_submit_runs_the_same_job_on_the_cluster(
    master: str, runs: list[Path], local: dict[str, Any]
) -> None:
    done = submit(master, *map(str, runs))
    assert done.returncode == 0, done.stderr
    assert same(json.loads(done.stdout), local)


def test_spark_submit_says_in_a_sentence_what_is_wrong(tmp_path: Path) -> None:
    done = submit("local[1]", str(tmp_path / "none"))
    assert done.returncode == 2
    # spark-submit puts what the program says of errors into its own output.
    sentence = f"testbed: {tmp_path / 'none'} is no run folder: there is no such folder\n"
    assert done.stdout == sentence


def test_a_master_that_is_not_there_is_said_in_a_sentence(tmp_path: Path, runs: list[Path]) -> None:
    done = run(tmp_path, "analyze", str(runs[1]), "--master", "sparkle://127.0.0.1:1")
    assert done.returncode == 2
    assert done.stderr.startswith("testbed: Spark did not start on sparkle://127.0.0.1:1: ")
    assert len(done.stderr.splitlines()) == 1
