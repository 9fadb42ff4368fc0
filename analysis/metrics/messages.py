"""Messages within a community (CAMCAST 4.3, Fig. 13) and efficiency (6.2.2).

Per event: copies sent by members to members (`sent`), copies that arrived (`received`), of these the
first ones (`useful`) and the others (`duplicates`), and those that did not arrive (`dropped`).
Efficiency is the share of the copies received that were useful: a duplicate is wasted effort.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F


def messages() -> dict[str, Column]:
    useful = F.col("received") - F.col("duplicates")
    received = F.sum("received")
    return {
        "sent": F.avg("sent"),
        "received": F.avg("received"),
        "useful": F.avg(useful),
        "duplicates": F.avg("duplicates"),
        "dropped": F.avg("dropped"),
        "efficiency": F.when(received > 0, F.sum(useful) / received),
    }
