"""Control messages: those that carry no event, by kind; what membership and upkeep cost."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.names import CONTROL, EVERYWHERE


def control(things: DataFrame) -> DataFrame:
    """How many of each kind were sent, per repetition, as `control KIND` of all communities."""
    return (
        things.where("what = 'control' and value > 0")
        .select("*", F.concat(F.lit(CONTROL), "name").alias("metric"))
        .withColumn("community", F.lit(EVERYWHERE))
    )
