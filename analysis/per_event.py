"""What each event did in each community: the frame that most metrics are computed from.

A journal of the level `counts` says it; from one of the level `full` it is computed here, by the
definitions of `agents.core.journal.Count`, whose fields are the columns beside `KEY`.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.journals import KEY, Journals
from analysis.names import EVERYWHERE

PLACE = (*KEY, "event", "community")

SUMS = (
    *("sent", "received", "duplicates", "parasites", "dropped"),
    *("upward_sent", "upward_senders", "upward_received", "delivered", "members", "reached"),
)
ARRIVALS = ("first_hop", "last_hop", "first_ns", "median_ns", "last_ns")
"""0 where no member got a first copy from another."""


def per_event(journals: Journals, audiences: DataFrame) -> DataFrame | None:
    """Both levels together, a row for each event and community."""
    columns = [*PLACE, "topic", "published", *SUMS, *ARRIVALS]
    counted = journals.counts.select(*columns) if journals.counts is not None else None
    if journals.records is None:
        return counted
    computed = from_records(journals.records, audiences).select(*columns)
    return computed if counted is None else counted.unionAll(computed)


def from_records(records: DataFrame, audiences: DataFrame) -> DataFrame:
    """As a counting recorder would have written it."""
    published = records.where("kind = 'publish'").select(
        *KEY, "event", "topic", F.col("community").alias("home"), F.col("time").alias("published")
    )
    # An event has a row where it was published, if nothing else happened to it there.
    homes = published.select(*KEY, "event", F.explode(F.array("topic", "home")).alias("community"))
    parts = [_activity(records), _reached(records, published, audiences), homes]
    together = parts[0]
    for part in parts[1:]:
        together = together.unionByName(part, allowMissingColumns=True)
    # Each column comes from one of the parts, which has one row for a place.
    known = [name for name in together.columns if name not in PLACE]
    counts = together.groupBy(*PLACE).agg(*(F.max(name).alias(name) for name in known))
    since = [
        F.greatest(F.col(f"{name}_at") - F.col("published"), F.lit(0)).alias(f"{name}_ns")
        for name in ("first", "median", "last")
    ]
    plain = [*SUMS, "first_hop", "last_hop"]
    return (
        counts.join(published.drop("home"), [*KEY, "event"])
        .select(*PLACE, "topic", "published", *plain, *since)
        .fillna(0)
    )


def who_joined(records: DataFrame) -> DataFrame:
    """Everybody who was ever in a community; `since` when without a break, if so until the end."""
    agent = Window.partitionBy(*KEY, "agent")
    moment = F.struct("time", "line")  # a crash and the next life's join may share their time
    crashed = F.max(F.when(_is("crash"), moment)).over(agent)
    left = F.max(F.when(_is("leave"), moment)).over(agent.partitionBy(*KEY, "agent", "community"))
    gone = F.greatest(crashed, left)
    stayed = gone.isNull() | (moment > gone)
    return (
        records.where("kind in ('join', 'leave', 'crash')")
        .select(*KEY, "agent", "community", "kind", "time", stayed.alias("stayed"))
        .where("kind = 'join'")
        .groupBy(*KEY, "agent", "community")
        .agg(F.min(F.when(F.col("stayed"), F.col("time"))).alias("since"))
    )


def over_communities(events: DataFrame) -> DataFrame:
    """Each event as a whole, in a community called `*`; who is in two communities counts twice."""
    meant = F.col("members") > 0
    missed = F.max((meant & (F.col("reached") == 0)).cast("int"))
    sums = [F.sum(name).alias(name) for name in SUMS]
    arrived = F.col("last_hop") > 0
    return (
        events.groupBy(*KEY, "event", "topic", "published")
        .agg(
            *sums,
            F.coalesce(F.min(F.when(arrived, F.col("first_hop"))), F.lit(0)).alias("first_hop"),
            # What did not get everywhere has no time at which it got everywhere.
            F.when(missed == 0, F.max("last_hop")).otherwise(0).alias("last_hop"),
            F.coalesce(F.min(F.when(arrived, F.col("first_ns"))), F.lit(0)).alias("first_ns"),
            F.lit(None).cast("long").alias("median_ns"),
            F.when(missed == 0, F.max("last_ns")).otherwise(0).alias("last_ns"),
        )
        .withColumn("community", F.lit(EVERYWHERE))
    )


def _activity(records: DataFrame) -> DataFrame:
    """What was sent, received and delivered where."""
    sent, received = _is("send"), _is("receive")
    first = received & ~F.col("duplicate")
    upward, at, hop = F.col("upward"), F.when(first, F.col("time")), F.when(first, F.col("hop"))
    return (
        records.where(
            "event != '' and kind in ('send', 'receive', 'deliver', 'drop') and cause != 'refused'"
        )
        .groupBy(*PLACE)
        .agg(
            F.count_if(sent & ~upward).alias("sent"),
            F.count_if(received).alias("received"),
            F.count_if(received & F.col("duplicate")).alias("duplicates"),
            F.count_if(received & F.col("parasite")).alias("parasites"),
            F.sum(F.when(_is("drop"), F.col("copies")).otherwise(0)).alias("dropped"),
            F.count_if(sent & upward).alias("upward_sent"),
            F.size(F.collect_set(F.when(sent & upward, F.col("agent")))).alias("upward_senders"),
            F.count_if(received & upward).alias("upward_received"),
            F.count_if(_is("deliver")).alias("delivered"),
            F.min(hop).alias("first_hop"),
            F.max(hop).alias("last_hop"),
            F.min(at).alias("first_at"),
            _lower_median(at).alias("median_at"),
            F.max(at).alias("last_at"),
        )
    )


def _reached(records: DataFrame, published: DataFrame, audiences: DataFrame) -> DataFrame:
    """In every community that an event is meant for and that anybody joined: the living members,
    and those of them to whom the event was delivered."""
    delivered = records.where("kind = 'deliver'").select(*KEY, "event", "agent").distinct()
    living = F.col("since") <= F.col("published")
    return (
        published.join(F.broadcast(audiences), ["folder", "point", "topic"])
        .join(who_joined(records), [*KEY, "community"])
        .join(delivered.withColumn("got", F.lit(1)), [*KEY, "event", "agent"], "left")
        .groupBy(*PLACE)
        .agg(
            F.count_if(living).alias("members"),
            F.count_if(living & F.col("got").isNotNull()).alias("reached"),
        )
    )


def _is(kind: str) -> Column:
    return F.col("kind") == kind


def _lower_median(column: Column) -> Column:
    ordered = F.sort_array(F.collect_list(column))
    middle = F.floor((F.size(ordered) + 1) / 2).cast("int")
    return F.when(F.size(ordered) > 0, F.element_at(ordered, F.greatest(middle, F.lit(1))))
