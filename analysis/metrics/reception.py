"""Reception probability (CAMCAST 6.1.2, 6.2.2): "the probability for a process to receive an event".

Per repetition: the mean over events of the share of a community's living members to whom the event
was delivered. Communities without living members have none.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F


def reception() -> dict[str, Column]:
    share = F.when(F.col("members") > 0, F.col("reached") / F.col("members"))
    return {"reception": F.avg(share), "members": F.avg("members")}
