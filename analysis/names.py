"""The metrics' names, for whoever speaks of metrics without computing any: nothing is imported.

`analysis.metrics` computes them; a test holds the two together.
"""

EVERYWHERE = "*"
"""In place of a community: all of them together."""

OF_EVENTS = (
    *("reception", "reliability", "members"),
    *("sent", "received", "useful", "duplicates", "dropped", "efficiency"),
    *("upward_sent", "upward_received", "upward_share"),
    *("first_hops", "rounds", "first_ms", "median_ms", "last_ms"),
    "parasites",
)
"""Of single events, summed up by community."""

SHARES = frozenset({"reception", "reliability", "efficiency", "upward_share"})
"""Metrics that lie between 0 and 1."""
ONLY_OF_COMMUNITIES = frozenset({"median_ms"})
"""Metrics that cannot be put together from those of single communities."""

CONTROL, TABLE = "control ", "table "
"""How metrics begin that are named by what a protocol has: a kind of message sent in all, and a
community's table."""


def is_metric(name: str) -> bool:
    return name in OF_EVENTS or any(
        name.startswith(kind) and bool(name.removeprefix(kind).strip()) for kind in (CONTROL, TABLE)
    )


def has_communities(name: str) -> bool:
    """Whether it is measured in each community."""
    return not name.startswith(CONTROL)


def has_everywhere(name: str) -> bool:
    """Whether it is measured over all communities together."""
    return name not in ONLY_OF_COMMUNITIES and not name.startswith(TABLE)
