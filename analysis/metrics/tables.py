"""Table sizes (CAMCAST 4.4, memory complexity): how many entries a process keeps, at the run's end.

By community and table, the mean over the processes that have one, as `table NAME`.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.names import TABLE


def tables(things: DataFrame) -> DataFrame:
    return things.where("what = 'table'").withColumn("metric", F.concat(F.lit(TABLE), "name"))
