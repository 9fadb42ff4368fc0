"""The topic hierarchy: dotted names under one root (CAMCAST 2.1).

`.soccer.italy` lies under `.soccer`, which lies under the root `.`; the name says so, and a topic
may be put under further parents as well (3.6). Topics can be added at any time: nobody below or
beside a new topic has to know of it.
"""

import re
from collections.abc import Iterable, Iterator

from agents.core.errors import TopicError
from agents.core.messages import MAX_TOPIC_NAME

ROOT = "."
_NAME = re.compile(r"(\.[A-Za-z0-9_-]+)+")


def check_name(name: str) -> str:
    """The name itself if it is one that a topic can have."""
    if name != ROOT and not _NAME.fullmatch(name):
        raise TopicError(
            f"{name!r} is no topic name: write '.' for the root, or dotted parts of letters, "
            "digits, '_' and '-' behind a first dot, such as '.soccer.italy'"
        )
    if len(name) > MAX_TOPIC_NAME:
        # Other peers would refuse every message with that name in it.
        raise TopicError(
            f"{name!r} is no topic name: it has {len(name)} characters, over the {MAX_TOPIC_NAME} "
            "allowed"
        )
    return name


def parent_by_name(name: str) -> str:
    """The topic that the name itself puts this one under."""
    return name.rpartition(".")[0] or ROOT


class Topics:
    """A hierarchy with one root. Knows who includes whom, and refuses cycles."""

    def __init__(self, root: str = ROOT) -> None:
        self.root = check_name(root)
        self.version = 0
        """Another one after each change, for those who keep what they derived."""
        self._supers: dict[str, tuple[str, ...]] = {self.root: ()}
        self._ancestors: dict[str, tuple[str, ...]] = {}
        self._levels: dict[str, int] = {}

    def __contains__(self, topic: object) -> bool:
        return topic in self._supers

    def __iter__(self) -> Iterator[str]:
        """All topics, in the order in which they were added."""
        return iter(self._supers)

    def __len__(self) -> int:
        return len(self._supers)

    def add(self, topic: str, further_parents: Iterable[str] = ()) -> str:
        """Add a topic under the parent that its name says, and under further ones."""
        check_name(topic)
        if topic in self._supers:
            raise TopicError(f"topic {topic!r} is there already")
        self._check_under_root(topic)
        parents = dict.fromkeys((parent_by_name(topic), *further_parents))
        for parent in parents:
            if parent == topic:
                raise TopicError(f"topic {topic!r} cannot be its own parent")
            if parent not in self._supers:
                raise TopicError(
                    f"topic {topic!r} has an unknown parent {parent!r}: add that first"
                )
        self._supers[topic] = tuple(parents)
        self.version += 1
        return topic

    def add_path(self, topic: str) -> str:
        """Add a topic and whatever its name says must lie above it."""
        check_name(topic)
        missing = []
        if topic not in self._supers:
            self._check_under_root(topic)
        while topic not in self._supers:
            missing.append(topic)
            topic = parent_by_name(topic)
        for name in reversed(missing):
            self.add(name)
        return missing[0] if missing else topic

    def add_parent(self, topic: str, parent: str) -> None:
        """Put an existing topic under one more parent."""
        self.require(topic)
        if parent not in self._supers:
            raise TopicError(f"topic {topic!r} has an unknown parent {parent!r}: add that first")
        if self.includes(topic, parent):
            raise TopicError(
                f"topic {parent!r} cannot be a parent of {topic!r}, which includes it: a cycle"
            )
        if parent not in self._supers[topic]:
            self._supers[topic] += (parent,)
            self.version += 1
            self._ancestors.clear()
            self._levels.clear()

    def require(self, topic: str) -> str:
        if topic not in self._supers:
            raise TopicError(f"topic {topic!r} is not known; known are {', '.join(self._supers)}")
        return topic

    def supers(self, topic: str) -> tuple[str, ...]:
        """The direct super-topics, the one by name first; none for the root."""
        return self._supers[self.require(topic)]

    def ancestors(self, topic: str) -> tuple[str, ...]:
        """Every topic that strictly includes this one, nearest first."""
        known = self._ancestors.get(topic)
        if known is None:
            found: dict[str, None] = {}
            ring = self.supers(topic)
            while ring:
                found.update(dict.fromkeys(ring))
                above = dict.fromkeys(up for name in ring for up in self._supers[name])
                ring = tuple(name for name in above if name not in found)
            known = self._ancestors[topic] = tuple(found)
        return known

    def includes(self, upper: str, lower: str) -> bool:
        """Whether events of `lower` are events of `upper`: it is that topic or lies under it."""
        return upper == lower or upper in self.ancestors(lower)

    def level(self, topic: str) -> int:
        """The length of the longest path from the root, so that a super-topic's is always less."""
        levels = self._levels
        waiting = [] if topic in levels else [self.require(topic)]
        while waiting:  # a hierarchy may be deeper than the stack
            supers = self._supers[waiting[-1]]
            unknown = [up for up in supers if up not in levels]
            if unknown:
                waiting += unknown
            else:
                levels[waiting.pop()] = 1 + max((levels[up] for up in supers), default=-1)
        return levels[topic]

    @property
    def depth(self) -> int:
        """The highest level of any topic (2.1)."""
        return max(self.level(topic) for topic in self._supers)

    def _check_under_root(self, topic: str) -> None:
        # `.ab` does not lie under `.a`.
        if self.root != ROOT and not topic.startswith(f"{self.root}."):
            raise TopicError(f"topic {topic!r} does not lie under the root {self.root!r}")
