"""The super-topic table: whom a process knows above one of its topics (CAMCAST 3.2.1)."""

from collections.abc import Sequence

from agents.core.errors import RemoteError
from agents.core.messages import PeerId
from agents.core.topics import Topics
from agents.core.views import View
from agents.protocols.camcast.messages import MAX_SCOPE

Entry = tuple[str, PeerId]
"""A process, and of which topic it is known."""


class SuperTable:
    """What a process knows of the processes above one of its topics, towards one parent."""

    def __init__(self, topics: Topics, parent: str, capacity: int) -> None:
        self.topics = topics
        self.parent = parent
        self.capacity = capacity
        self.views: dict[str, View] = {}
        """Who stands here, by topic: the parent's processes or, while it has none, those of the
        nearest topics above it (2.1). These are several where the ways up part (3.6); none of them
        includes another, and none of the views is empty."""
        self.scope: list[str] = []
        """The topics that are being searched for; empty while no search is on."""
        self.search_serial = 0
        self.patience = 1
        """How many timeouts the search waits before it asks again."""
        self.check_serial = 0
        """0 while no check is on."""
        self.unanswered: list[Entry] = []
        """Those who have not yet said that they are alive, while a check is on."""
        self.dead: list[Entry] = []
        """The last found dead, by us or by others: not to be taken back on hearsay."""
        self.found_dead: list[Entry] = []
        """Whom our own last check found dead. Others are told of these alone: if hearsay were
        passed on, a false alarm would never end."""
        self._overdue: list[Entry] = []
        """Who was not among those to be known when these were last named, and still stands here."""

    @property
    def complete(self) -> bool:
        """Whether it holds processes of the direct super-topic, so that no search is needed."""
        return self.parent in self.views

    @property
    def full(self) -> bool:
        """Whether it holds as many of these as it may."""
        return self.complete and self.views[self.parent].full

    @property
    def entries(self) -> list[Entry]:
        return [(topic, peer) for topic, view in self.views.items() for peer in view]

    @property
    def peers(self) -> list[PeerId]:
        return list(dict.fromkeys(peer for view in self.views.values() for peer in view))

    def nearest_first(self) -> list[str]:
        """The parent and all above it, whose processes may stand here; none before what it
        includes."""
        above = self.topics.ancestors(self.parent)
        return [self.parent, *sorted(above, key=self.topics.level, reverse=True)]

    def check_topic(self, topic: str) -> None:
        """Refuse a topic whose processes have no place here."""
        if not self.topics.includes(topic, self.parent):
            raise RemoteError(f"{topic!r} does not lie above {self.parent!r}")

    def covered(self, topic: str) -> bool:
        """Whether processes of a nearer topic are known, who pass events on to this one."""
        return any(near != topic and self.topics.includes(topic, near) for near in self.views)

    # Who is here

    def merge(self, topic: str, peers: Sequence[PeerId]) -> None:
        """MERGE: keep the favourites, fill what is free; a nearer topic's processes replace those
        of the topics that include it."""
        fresh = [peer for peer in peers if (topic, peer) not in self.dead]
        if not fresh or self.covered(topic):
            return
        for further in [name for name in self.views if name != topic]:
            if self.topics.includes(further, topic):
                del self.views[further]
        view = self.views.setdefault(topic, View(self.capacity))
        for peer in fresh:
            view.add(peer)
        self._narrow()

    def clear(self, topic: str, successors: Sequence[PeerId]) -> None:
        """Make room for these, who are to take the place of the topic's processes; those among them
        who stand here already stay. So do others, as far as there is room, but not twice in a row:
        a few newcomers are no reason to let go of all."""
        view = self.views.get(topic)
        fresh = [peer for peer in successors if (topic, peer) not in self.dead]
        if view is None or not fresh:
            return
        room = max(0, self.capacity - len(fresh))
        others = [peer for peer in view if peer not in successors]
        late = [peer for peer in others if (topic, peer) not in self._overdue][:room]
        self._overdue = [entry for entry in self._overdue if entry[0] != topic]
        self._overdue += [(topic, peer) for peer in late]
        self.views[topic] = View(self.capacity, [p for p in view if p in successors or p in late])

    def bury(self, topic: str, peer: PeerId) -> None:
        view = self.views.get(topic)
        if view is not None and view.remove(peer):
            if not view:
                del self.views[topic]
            self.dead.append((topic, peer))
            del self.dead[: -4 * self.capacity]

    def revive(self, topic: str, peer: PeerId) -> bool:
        """It gave a sign of life itself; whether it was taken for dead."""
        was_dead = (topic, peer) in self.dead
        if was_dead:
            self.dead.remove((topic, peer))
        if (topic, peer) in self.found_dead:
            self.found_dead.remove((topic, peer))
        return was_dead

    def buried(self, topic: str, peers: Sequence[PeerId]) -> list[PeerId]:
        """Those of them who were found dead."""
        return [peer for name, peer in self.dead if name == topic and peer in peers]

    def resize(self, capacity: int) -> None:
        self.capacity = capacity
        for topic, view in self.views.items():
            self.views[topic] = View(capacity, view.peers[:capacity])

    # What is searched for

    def widen(self) -> bool:
        """Look one topic further up, until the root is among what is looked for (3.3), but for
        nothing that known processes pass events on to; whether there was one more."""
        if len(self.scope) < MAX_SCOPE:
            for topic in self.nearest_first():
                if topic not in self.scope and not self.covered(topic):
                    self.scope.append(topic)
                    return True
        return False

    def wanted(self) -> tuple[str, ...]:
        """The scope as it is sent: without what is known already. Whoever can answer passes a
        request on to nobody, and those near by who know no more than we do would end it."""
        return tuple(topic for topic in self.scope if topic not in self.views)

    def _narrow(self) -> None:
        """Look for the topic that was found and those below it only (daMulticast V-A.2)."""
        searched = () if self.complete else self.scope
        self.scope = [topic for topic in searched if not self.covered(topic)]
