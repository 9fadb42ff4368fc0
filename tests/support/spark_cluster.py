"""A real Spark cluster on loopback: a standalone master and workers, each a process of its own."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
DAEMONS = "org.apache.spark.deploy"


@contextmanager
def spark_cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """The master's address, as long as the block lasts. Each worker has one core."""
    with ExitStack() as daemons:
        address = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        said = daemons.enter_context(
            _daemon(folder / "master", "Starting Spark master at ", "master.Master", *address)
        )
        master = said.split()[-1]
        for number in range(workers):
            home = folder / f"worker-{number}"
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(home / "work"))
            daemons.enter_context(
                _daemon(
                    home, "Successfully registered with ", "worker.Worker", *address, *size, master
                )
            )
        yield master


@contextmanager
def _daemon(home: Path, ready: str, name: str, *arguments: str) -> Iterator[str]:
    """The line by which it says that it is ready; it is ended with the block."""
    home.mkdir(parents=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(home / "local"),
        "SPARK_CONF_DIR": str(home),  # where there is none, so that the log says what we wait for
    }
    if "JAVA_HOME" in os.environ:
        environment["JAVA_HOME"] = os.environ["JAVA_HOME"]
    process = subprocess.Popen(
        [str(SPARK_HOME / "bin" / "spark-class"), f"{DAEMONS}.{name}", *arguments],
        cwd=home,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    log = process.stdout
    # Taken to its end, for a daemon whose words nobody takes would stop.
    rest = threading.Thread(target=lambda: [None for _ in log])
    try:
        line = next((line for line in log if ready in line), "")
        assert line, f"{name} ended before it was ready"
        rest.start()
        yield line
    finally:
        process.terminate()
        process.wait()
        if rest.ident is not None:
            rest.join()
        log.close()
