"""Latency (CAMCAST 4.6, Table 1; 6.2.2): how long an event takes, in hops and in milliseconds.

From the publication to a community's first member (`first_hops`, `first_ms`), to the middle one
(`median_ms`) and to the last that got it (`rounds`, `last_ms`), the publisher not counted; the mean
over the events that came there. A round is a hop: "the propagation of an event from one set of
processes to another without transiting by any other processes" (4.6.1). Over all communities it is
the time to the last member of the last community, over the events that came to every one.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F


def latency() -> dict[str, Column]:
    return {
        "first_hops": _of_those_that_came("first_hop"),
        "rounds": _of_those_that_came("last_hop"),
        "first_ms": _of_those_that_came("first_ns") / 1e6,
        "median_ms": _of_those_that_came("median_ns") / 1e6,
        "last_ms": _of_those_that_came("last_ns") / 1e6,
    }


def _of_those_that_came(column: str) -> Column:
    return F.avg(F.when(F.col("last_hop") > 0, F.col(column)))
