"""Which community an agent's record is about, where the protocol itself knows none."""

from collections.abc import Sequence
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

    def taking_part(self, agent: PeerId, community: str) -> tuple[str, ...]:
        """The communities in which an agent takes part when it has joined that one: all of its own
        where the protocol knows none; its home where it joined the group of a subtopic."""
        if not community:
            people = self._people
            return topics_of(AnyOf(people.kinds[people.kind_of[agent]])) or ("",)
        home, interested = self.of(agent, community)
        return (home if interested else community,)

    def _find(self, kind: int, topic: str) -> tuple[str, bool]:
        mine = topics_of(AnyOf(self._people.kinds[kind]))
        first = mine[0] if mine else ""
        if topic not in self._topics:
            return first, False
        including = [name for name in mine if self._topics.includes(name, topic)]
        return (including[0], True) if including else (first, False)
