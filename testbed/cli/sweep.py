"""`testbed sweep`: an experiment in the simulator, its runs spread over Spark."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agents.core.errors import LocalError
from testbed.cli.progress import bars
from testbed.cli.simulate import EXPERIMENTS, print_end, print_rows
from testbed.model import find_experiment, load_experiment
from testbed.summary import summarise


def sweep(
    experiment: Annotated[str, typer.Argument(help="A file, or the name of one of ours.")],
    master: Annotated[
        str, typer.Option(help="Spark's: spark://HOST:PORT, or local[N] for N cores of this one.")
    ] = "local[*]",
    out: Annotated[Path, typer.Option(help="Where run folders go.")] = Path("runs"),
    seed: Annotated[int | None, typer.Option(help="In place of the file's.")] = None,
    repetitions: Annotated[int | None, typer.Option(help="In place of the file's.")] = None,
    journal: Annotated[str | None, typer.Option(help="full or counts; else the file's.")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="In place of the file's: a name, or path/to/file.py:Name.")
    ] = None,
    membership: Annotated[
        str | None, typer.Option(help="In place of the file's, as `testbed protocols` lists them.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run an experiment as `simulate` does, on the machines of a Spark cluster."""
    # Here, because the other commands have to run where Spark is not installed.
    from testbed.sweeps import sweep as run_sweep

    overrides = {
        "seed": seed,
        "repetitions": repetitions,
        "journal": journal,
        "protocol": protocol,
        "membership": membership,
    }
    path = find_experiment(experiment, EXPERIMENTS)
    file = load_experiment(path, overrides)
    if file.points[0].experiment.engine != "sim":
        raise LocalError(f"{path} is for the LAN (engine: lan); the simulator runs engine: sim")
    with bars() as watcher:
        finished = run_sweep(file, out, master, watcher.begin("simulating"))
    rows = summarise(count for outcome in finished.outcomes for count in outcome.counts)
    if as_json:
        print(json.dumps({"run": str(finished.path), "rows": [asdict(row) for row in rows]}))
    else:
        print_rows(file, rows)
        print_end(finished)
