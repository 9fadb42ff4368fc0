"""What each repetition did as a whole: the frame of the metrics that are not of single events.

A journal of the level `counts` says it in its `Total`; from one of the level `full` it is summed up
here. Columns beside `KEY`: `what` (`sent`, `received`, `dropped`, `control`, `table`), the
`community` and `name` that it is of (a cause, a kind of message, a table), and the `value`. A thing
may have several rows, which add up.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.journals import KEY, Journals

COLUMNS = (*KEY, "what", "community", "name", "value")


def per_run(journals: Journals) -> DataFrame | None:
    """Both levels together."""
    said = from_totals(journals.totals) if journals.totals is not None else None
    if journals.records is None:
        return said
    summed = from_records(journals.records)
    return summed if said is None else said.unionAll(summed)


def from_records(records: DataFrame) -> DataFrame:
    kind, is_control = F.col("kind"), F.col("event") == ""
    is_table = kind == "table"
    counted = (
        records.where("kind in ('send', 'receive', 'drop', 'table')")
        .groupBy(
            *KEY,
            "kind",
            "cause",
            is_control.alias("is_control"),
            F.when(is_table, F.col("community")).otherwise("").alias("community"),
            F.when(is_table | is_control, F.col("message")).otherwise("").alias("message"),
        )
        .agg(F.sum("copies").cast("double").alias("number"), F.avg("size").alias("size"))
    )
    number, message = F.col("number"), F.col("message")
    things = F.array(
        F.when(kind == "send", _thing("sent", number)),
        F.when((kind == "send") & F.col("is_control"), _thing("control", number, message)),
        F.when(kind == "receive", _thing("received", number)),
        F.when(kind == "drop", _thing("dropped", number, F.col("cause"))),
        F.when(is_table, _thing("table", F.col("size"), message, F.col("community"))),
    )
    return counted.select(*KEY, F.inline(F.array_compact(things))).select(*COLUMNS)


def from_totals(totals: DataFrame) -> DataFrame:
    things = F.concat(
        F.array(_thing("sent", F.col("sent")), _thing("received", F.col("received"))),
        _things("dropped", F.col("dropped")),
        _things("control", F.col("control_by_kind")),
        F.transform(F.map_entries("tables"), _table),
    )
    return totals.select(*KEY, F.inline(things)).select(*COLUMNS)


def _table(entry: Column) -> Column:
    """Its key is `community/table`; of its sizes the second is the mean."""
    name = F.split(entry["key"], "/", 2)
    return _thing("table", entry["value"][1], name[1], name[0])


def _things(what: str, numbers: Column) -> Column:
    return F.transform(
        F.map_entries(numbers), lambda entry: _thing(what, entry["value"], entry["key"])
    )


def _thing(
    what: str, value: Column, name: Column | None = None, community: Column | None = None
) -> Column:
    return F.struct(
        F.lit(what).alias("what"),
        (F.lit("") if community is None else community).alias("community"),
        (F.lit("") if name is None else name).alias("name"),
        value.cast("double").alias("value"),
    )
