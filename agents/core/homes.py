"""Which community an agent's record is about, where the protocol itself knows none or has groups
of its own."""

from collections.abc import Mapping, Sequence
from typing import Protocol as Structural

from agents.core.interest import AnyOf, Interest, topics_of
from agents.core.messages import PeerId
from agents.core.topics import Topics


class People(Structural):
    """Who is interested in what, as far as whoever writes records knows."""

    @property
    def kinds(self) -> Sequence[tuple[Interest, ...]]:
        """The different interests that agents have."""

    @property
    def kind_of(self) -> Sequence[int]:
        """Which of them each agent has."""


class Homes:
    """An agent's home for a topic is the first of its own topics that includes it; failing that,
    its first one."""

    def __init__(self, people: People, topics: Topics) -> None:
        self._people = people
        self._topics = topics
        self._known: dict[tuple[int, str], tuple[str, bool]] = {}

    def of(self, agent: PeerId, topic: str) -> tuple[str, bool]:
        """The community, and whether the agent is interested in events of the topic."""
        key = (self._people.kind_of[agent], topic)
        known = self._known.get(key)
        if known is None:
            known = self._find(*key)
            if topic in self._topics:  # what others make up is not kept
                self._known[key] = known
        return known

    def taking_part(self, agent: PeerId, group: str) -> tuple[str, ...]:
        """The communities in which an agent takes part when it has joined that group: all of its
        own where the protocol knows none; its home where it joined the group of a subtopic."""
        people = self._people
        mine = topics_of(AnyOf(people.kinds[people.kind_of[agent]]))
        if not group:
            return mine or ("",)
        home, interested = self.of(agent, group)
        return (home if interested and group not in mine else group,)

    def _find(self, kind: int, topic: str) -> tuple[str, bool]:
        mine = topics_of(AnyOf(self._people.kinds[kind]))
        first = mine[0] if mine else ""
        if topic not in self._topics:
            return first, False
        including = [name for name in mine if self._topics.includes(name, topic)]
        return (including[0], True) if including else (first, False)


class Attendance:
    """Who takes part in which communities: an agent comes with its first group there and goes with
    its last one, however many it joins in between."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes
        self._through: dict[PeerId, dict[str, tuple[str, ...]]] = {}
        """By agent and group. Kept, as an agent's interests change before it leaves a group."""

    def joined(self, agent: PeerId, group: str) -> list[str]:
        """The communities in which the agent takes part from now on, and did not before."""
        groups = self._through.setdefault(agent, {})
        before = _all(groups)
        names = groups[group] = self._homes.taking_part(agent, group)
        return [name for name in names if name not in before]

    def left(self, agent: PeerId, group: str) -> list[str]:
        """The communities in which it takes part no longer."""
        groups = self._through.get(agent, {})
        before = _all(groups)
        groups.pop(group, None)
        for other in groups:  # which may have been joined for the sake of an interest now lost
            names = self._homes.taking_part(agent, other)
            groups[other] = tuple(name for name in names if name in before)
        after = _all(groups)
        return [name for name in before if name not in after]

    def crashed(self, agent: PeerId) -> None:
        """It takes part in nothing any more."""
        self._through.pop(agent, None)


def _all(groups: Mapping[str, tuple[str, ...]]) -> dict[str, None]:
    return dict.fromkeys(name for names in groups.values() for name in names)
