"""Small frames from rows at hand.

Spark's own `createDataFrame` sends rows through a Python process on each worker. These are read by
the JVM itself, so that a cluster's workers need no Python and a local session starts none.
"""

import json
from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def frame(
    spark: SparkSession, columns: Mapping[str, str], rows: Iterable[tuple[object, ...]]
) -> DataFrame:
    """`columns` are Spark's types by name; values are what JSON can hold."""
    data = json.dumps([dict(zip(columns, row, strict=True)) for row in rows])
    fields = ", ".join(f"{name}: {kind}" for name, kind in columns.items())
    read = F.from_json(F.lit(data), f"array<struct<{fields}>>")
    return spark.range(1).select(F.inline(read))
