"""Upward messages (CAMCAST 4.3, Fig. 14, Figs 27 and 28): copies from a community to the one above.

Per event: copies that members sent to a super-community (`upward_sent`), copies that members got
from a subcommunity (`upward_received`), and the share of the living members that passed the event
up (`upward_share`: the paper's "7 % of the processes").
"""

from pyspark.sql import Column
from pyspark.sql import functions as F


def upward() -> dict[str, Column]:
    # Who passed it up may have crashed since, and is no living member any more.
    share = F.least(F.col("upward_senders") / F.col("members"), F.lit(1.0))
    return {
        "upward_sent": F.avg("upward_sent"),
        "upward_received": F.avg("upward_received"),
        "upward_share": F.avg(F.when(F.col("members") > 0, share)),
    }
