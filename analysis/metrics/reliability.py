"""Reliability (CAMCAST 4.5, 6.2.2): the share of events that every living member of a community got.

The publisher counts as a member that got it. Communities without living members have none.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F


def reliability() -> dict[str, Column]:
    whole = F.when(F.col("members") > 0, (F.col("reached") == F.col("members")).cast("double"))
    return {"reliability": F.avg(whole)}
