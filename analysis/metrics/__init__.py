"""The papers' metrics, one a file, each with its paper's definition.

Those of events say how they sum up the rows of `analysis.per_event`, as columns by name, so that
`of_events` computes all of them in one pass; those of whole runs take the frame of
`analysis.per_run`. A metric of your own is a file of the same form and a line here.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.journals import KEY
from analysis.metrics.control import control
from analysis.metrics.latency import latency
from analysis.metrics.messages import messages
from analysis.metrics.parasites import parasites
from analysis.metrics.reception import reception
from analysis.metrics.reliability import reliability
from analysis.metrics.tables import tables
from analysis.metrics.upward import upward
from analysis.names import SHARES as SHARES

OF_EVENTS: tuple[Callable[[], dict[str, Column]], ...] = (
    reception,
    reliability,
    messages,
    upward,
    latency,
    parasites,
)
OF_RUNS: tuple[Callable[[DataFrame], DataFrame], ...] = (control, tables)

VALUE = (*KEY, "community", "metric", "value")
"""The columns of what both functions here give: a row for each repetition, community and metric."""


def of_events(events: DataFrame) -> DataFrame:
    columns = {name: column for metric in OF_EVENTS for name, column in metric().items()}
    wide = events.groupBy(*KEY, "community").agg(
        *(column.cast("double").alias(name) for name, column in columns.items())
    )
    values = [F.struct(F.lit(name).alias("metric"), F.col(name).alias("value")) for name in columns]
    return wide.select(*KEY, "community", F.inline(F.array(*values)))


def of_runs(things: DataFrame) -> DataFrame:
    found = [metric(things).select(*VALUE) for metric in OF_RUNS]
    together = found[0]
    for values in found[1:]:
        together = together.unionAll(values)
    return together
