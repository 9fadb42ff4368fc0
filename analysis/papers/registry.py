"""All items, and how they are named: by id, by a range of ids, or by paper."""

import re
from collections.abc import Iterable

from analysis.errors import AnalysisError
from analysis.papers import camcast, camcast_beyond, camcast_lan, damulticast
from analysis.papers.items import Item

ITEMS: tuple[Item, ...] = (
    *camcast.ITEMS,
    *camcast_lan.ITEMS,
    *camcast_beyond.ITEMS,
    *damulticast.ITEMS,
)

PAPERS = {
    "camcast": "CAMCAST: the paper's simulations (6.1)",
    camcast_lan.PAPER: "CAMCAST: the paper's measurements on a LAN (6.2)",
    camcast_beyond.PAPER: "Beyond the paper: CAMCAST on a LAN under loss, crashes and churn",
    "damulticast": "daMulticast: the paper's simulations",
}
"""What an item's paper is called where there is room for it, section by section."""

_RANGE = re.compile(r"(?P<stem>.*?)(?P<first>\d{1,6})\.\.(?P<last>\d{1,6})")


def find(names: Iterable[str]) -> tuple[Item, ...]:
    """The items so named, in the registry's order, each once; all of them for no name."""
    wanted = list(names)
    if not wanted:
        return ITEMS
    found = {item.id for name in wanted for item in _named(name)}
    return tuple(item for item in ITEMS if item.id in found)


def _named(name: str) -> list[Item]:
    items = [item for item in ITEMS if name in (item.id, item.paper) or _in_range(item.id, name)]
    if not items:
        raise AnalysisError(f"nothing is called {name!r}: there are {_what_there_is()}")
    return items


def _in_range(id: str, name: str) -> bool:
    """Whether `cam-14` is in `cam-13..18`."""
    span = _RANGE.fullmatch(name)
    if span is None:
        return False
    number = id.removeprefix(span["stem"])
    return (
        id.startswith(span["stem"])
        and number.isdecimal()
        and int(span["first"]) <= int(number) <= int(span["last"])
    )


def _what_there_is() -> str:
    papers = dict.fromkeys(item.paper for item in ITEMS)
    ids = "; ".join(
        f"{paper} with {', '.join(item.id for item in ITEMS if item.paper == paper)}"
        for paper in papers
    )
    return f"{ids}; and ranges such as cam-13..18"
