"""Conservation: every message sent was received, dropped for a known cause, or is unaccounted for.

By folder and point, summed over its repetitions: `sent`, `received`, `dropped` for each cause, and
the `remainder`, which in the simulator is what was in flight when the run ended, and on a network
what nobody can explain. What a receiver refused has arrived, and so counts as received. A drop may
stand for many copies, where a network counted them and did not see whose they were.
"""

from typing import get_args

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from agents.core.journal import Cause

CAUSES = tuple(cause for cause in get_args(Cause) if cause and cause != "refused")


def conservation(things: DataFrame) -> DataFrame:
    what, name, value = F.col("what"), F.col("name"), F.col("value").cast("long")
    sums = {
        "sent": F.sum(F.when(what == "sent", value)),
        "received": F.sum(F.when(what == "received", value)),
        **{c: F.sum(F.when((what == "dropped") & (name == c), value)) for c in CAUSES},
    }
    lost = sum((F.col(cause) for cause in CAUSES), F.lit(0))
    return (
        things.groupBy("folder", "point")
        .agg(
            F.count_distinct("repetition").alias("repetitions"),
            *(F.coalesce(column, F.lit(0)).alias(name) for name, column in sums.items()),
        )
        .withColumn("remainder", F.col("sent") - F.col("received") - lost)
    )
