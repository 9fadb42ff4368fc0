"""The count recorder: only sums, a line for each event and community at the end of the run.

It costs a fraction of the full recorder's time and disk, and says the same numbers.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from agents.core.homes import Attendance, Homes
from agents.core.journal import Cause, Count, Total
from agents.core.messages import Event, EventMessage, Message, PeerId
from agents.core.topics import Topics
from testbed.sim.world import World


class _Tally:
    """What one event did in one community, so far."""

    __slots__ = (
        "delivered",
        "dropped",
        "duplicates",
        "first_hop",
        "had",
        "last_hop",
        "parasites",
        "received",
        "sent",
        "times",
        "upward_received",
        "upward_senders",
        "upward_sent",
    )

    def __init__(self, agents: int) -> None:
        self.sent = self.received = self.duplicates = self.parasites = self.dropped = 0
        self.upward_sent = self.upward_received = self.delivered = 0
        self.first_hop = self.last_hop = 0
        self.upward_senders: set[PeerId] = set()
        # A byte an agent: sets of numbers would take thirty times as much.
        self.had = bytearray(agents)
        self.times = array("q")


class _Story:
    """What became of one event, so far."""

    __slots__ = ("agents", "published", "reached", "tallies", "topic")

    def __init__(self, topic: str, published: int, agents: int) -> None:
        self.agents = agents
        self.topic = topic
        self.published = published
        self.tallies: dict[str, _Tally] = {}
        self.reached = bytearray(agents)

    def tally(self, community: str) -> _Tally:
        tally = self.tallies.get(community)
        if tally is None:
            tally = self.tallies[community] = _Tally(self.agents)
        return tally


class CountRecorder:
    def __init__(
        self,
        world: World,
        topics: Topics,
        write: Callable[[bytes], object],
        point: int = 0,
        repetition: int = 0,
    ) -> None:
        self._world = world
        self._topics = topics
        self._homes = Homes(world, topics)
        self._attendance = Attendance(self._homes)
        self._write = write
        self._point = point
        self._repetition = repetition
        self._stories: dict[str, _Story] = {}
        self._control: Counter[str] = Counter()
        self._members: dict[str, dict[PeerId, int]] = {}
        """Who takes part in each community now, and since when."""

    def sent(self, sender: PeerId, peers: Sequence[PeerId], message: Message) -> None:
        if not isinstance(message, EventMessage):
            self._control[type(message).__name__] += len(peers)
        elif message.origin:
            tally = self._stories[message.event.id].tally(message.origin)
            tally.upward_sent += len(peers)
            tally.upward_senders.add(sender)
        else:
            community = message.community or self._homes.of(sender, message.event.topic)[0]
            self._stories[message.event.id].tally(community).sent += len(peers)

    def received(self, to: PeerId, sender: PeerId, message: Message) -> None:
        if not isinstance(message, EventMessage):
            return
        event = message.event
        home, interested = self._homes.of(to, event.topic)
        tally = self._stories[event.id].tally(message.community or home)
        tally.received += 1
        if message.origin:
            tally.upward_received += 1
        if not interested:
            tally.parasites += 1
        if tally.had[to]:
            tally.duplicates += 1
            return
        tally.had[to] = 1
        tally.times.append(self._world.now)
        hop = message.hop
        if hop > tally.last_hop:
            tally.last_hop = hop
        if hop < tally.first_hop or not tally.first_hop:
            tally.first_hop = hop

    def dropped(self, to: PeerId, sender: PeerId, message: Message, cause: Cause) -> None:
        if isinstance(message, EventMessage) and cause != "refused":
            community = message.community or self._homes.of(to, message.event.topic)[0]
            self._stories[message.event.id].tally(community).dropped += 1

    def published(self, agent: PeerId, event: Event) -> None:
        story = self._stories[event.id] = _Story(
            event.topic, self._world.now, len(self._world.protocols)
        )
        home, _ = self._homes.of(agent, event.topic)
        for community in dict.fromkeys((event.topic, home)):
            story.tally(community).had[agent] = 1

    def delivered(self, agent: PeerId, event: Event, community: str) -> None:
        story = self._stories[event.id]
        story.tally(community or self._homes.of(agent, event.topic)[0]).delivered += 1
        story.reached[agent] = 1

    def joined(self, agent: PeerId, community: str) -> None:
        for name in self._attendance.joined(agent, community):
            self._members.setdefault(name, {})[agent] = self._world.now

    def left(self, agent: PeerId, community: str) -> None:
        for name in self._attendance.left(agent, community):
            del self._members[name][agent]

    def crashed(self, agent: PeerId) -> None:
        self._attendance.crashed(agent)
        for members in self._members.values():
            members.pop(agent, None)

    def restarted(self, agent: PeerId) -> None:
        pass

    def impaired(self, cause: Cause, value: float, community: str, towards: str) -> None:
        pass

    def finish(self) -> None:
        """Write everything."""
        living = self._members
        lines: list[Count | Total] = []
        for event, story in self._stories.items():
            above = (story.topic, *self._topics.ancestors(story.topic))
            communities = [name for name in above if name in living or name in story.tallies]
            for community in dict.fromkeys((*communities, *story.tallies)):
                interested = living.get(community, {}) if community in above else {}
                lines.append(self._count(event, story, community, interested))
        lines.append(self._total())
        encode = msgspec.json.Encoder().encode
        self._write(b"".join(encode(line) + b"\n" for line in lines))

    def _count(
        self, event: str, story: _Story, community: str, living: Mapping[PeerId, int]
    ) -> Count:
        tally = story.tally(community)
        published, times = story.published, tally.times
        members = [agent for agent, since in living.items() if since <= published]
        return Count(
            point=self._point,
            repetition=self._repetition,
            event=event,
            topic=story.topic,
            community=community,
            published=published,
            sent=tally.sent,
            received=tally.received,
            duplicates=tally.duplicates,
            parasites=tally.parasites,
            dropped=tally.dropped,
            upward_sent=tally.upward_sent,
            upward_senders=len(tally.upward_senders),
            upward_received=tally.upward_received,
            delivered=tally.delivered,
            members=len(members),
            reached=sum(story.reached[agent] for agent in members),
            first_hop=tally.first_hop,
            last_hop=tally.last_hop,
            first_ns=times[0] - published if times else 0,
            median_ns=times[(len(times) - 1) // 2] - published if times else 0,
            last_ns=times[-1] - published if times else 0,
        )

    def _total(self) -> Total:
        world = self._world
        sizes: dict[str, list[int]] = {}
        for agent, protocol in enumerate(world.protocols):
            if protocol is not None:
                for (community, table), peers in protocol.views().items():
                    home = community or self._homes.of(agent, "")[0]
                    sizes.setdefault(f"{home}/{table}", []).append(len(peers))
        return Total(
            point=self._point,
            repetition=self._repetition,
            time=world.now,
            sent=world.sent,
            received=world.received,
            in_flight=world.in_flight,
            dropped=dict(sorted(world.dropped.items())),
            control_sent=self._control.total(),
            control_by_kind=dict(sorted(self._control.items())),
            tables={
                name: [len(found), sum(found) / len(found), min(found), max(found)]
                for name, found in sorted(sizes.items())
            },
        )
