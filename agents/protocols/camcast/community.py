"""A process in one community: bootstrapping, keeping in touch, dissemination (CAMCAST 3.3 to 3.5)."""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from agents.core.draw import log_size, sample_others
from agents.core.errors import RemoteError
from agents.core.membership import Population
from agents.core.messages import Event, PeerId, ns
from agents.core.port import Port
from agents.core.setting import Setting
from agents.core.views import Seen
from agents.protocols.camcast.messages import (
    MAX_NEWS,
    MAX_NEWS_PEERS,
    MAX_NEWS_TABLES,
    Alive,
    AnsContact,
    CamcastParameters,
    Check,
    CheckTimeout,
    KeepTableUpdated,
    NewProcesses,
    NewProcessRequest,
    ReqContact,
    SearchTimeout,
    Spread,
    TableNews,
)
from agents.protocols.camcast.super_table import SuperTable

MAX_PATIENCE = 16
"""How many times its timeout a search that cannot be widened waits at the most. Ours."""

_encode_news = msgspec.msgpack.Encoder().encode
_News = Annotated[tuple[TableNews, ...], Meta(max_length=MAX_NEWS_TABLES)]
_decode_news = msgspec.msgpack.Decoder(_News).decode


class Community:
    """A process in one community: its tables, their upkeep, and what it does with events."""

    def __init__(
        self,
        port: Port,
        setting: Setting,
        topic: str,
        parameters: CamcastParameters,
        serials: Iterator[int],
    ) -> None:
        self.port = port
        self.setting = setting
        self.topic = topic
        self.serials = serials
        """Numbers that this process has not used before, for searches, checks and timers."""
        self.subscribed = False
        self.ready = False
        self.upkeep_serial = 0
        """Of the timer that KEEP_TABLE_UPDATED waits for; 0 for none."""
        self.seen = Seen()
        self.waiting: list[Event] = []
        self.tables: dict[str, SuperTable] = {}
        self.parameters = parameters
        self._follow_parents()
        self.counted: int | None = None
        """N, where the membership has counted."""
        self._derive(parameters)
        self.membership = setting.membership(
            port, setting, topic, Population(self._population(), self._table_size()), self
        )
        self.membership.on_size = self._on_size

    def apply(self, parameters: CamcastParameters) -> None:
        """Take these parameters from now on."""
        before = self.parameters
        new_period = parameters.maintain_every_s != before.maintain_every_s
        self._derive(parameters)
        self.membership.resize(self._table_size())
        if new_period:
            self._start_upkeep()
        if parameters.z != before.z or (self.keeps_up and not before.maintain_every_s):
            for table in self.tables.values():
                self._look_up_again(table)

    @property
    def keeps_up(self) -> bool:
        """Whether super-topic tables are maintained, and not only completed and filled."""
        return self.parameters.maintain_every_s > 0

    def _derive(self, parameters: CamcastParameters) -> None:
        """What follows from the parameters and the community's size."""
        self.parameters = parameters
        self.size = size = self._current_size()
        self.fanout = log_size(size, parameters.c)
        if size == self.counted == 2 and parameters.c >= 0:
            # ln 2 < 1, and N is counted as it grows: the first two are to know each other.
            self.fanout = max(1, self.fanout)
        # "If the number of processes becomes very small, we make all processes propagate" (4.5.1).
        self.psel = (
            parameters.psel if parameters.psel is not None else min(1.0, parameters.g / size)
        )
        self.pa = parameters.a / parameters.z
        for table in self.tables.values():
            table.resize(parameters.z)

    def join(self) -> None:
        for table in self.tables.values():
            self._seek(table)
        self._start_upkeep()
        self.membership.join()

    def leave(self) -> None:
        self.membership.leave()
        if self.ready:
            self.port.left(self.topic)

    # The carrier of the membership below (3.3: "disseminates its super-topic table using the
    # updates of the underlying membership algorithm").

    def membership_ready(self) -> None:
        self.ready = True
        self.port.joined(self.topic)
        waiting, self.waiting = self.waiting, []
        for event in waiting:
            self.disseminate(event, 0)

    def outgoing_news(self) -> bytes:
        items = [
            TableNews(
                table.parent,
                topic,
                tuple(table.views[topic].peers[:MAX_NEWS_PEERS]) if topic in table.views else (),
                tuple(peer for name, peer in table.found_dead if name == topic)[:MAX_NEWS_PEERS],
            )
            for table in self.tables.values()
            for topic in dict.fromkeys((*table.views, *(name for name, _ in table.found_dead)))
        ][:MAX_NEWS_TABLES]
        news = _encode_news(items) if items else b""
        while len(news) > MAX_NEWS:
            items.pop()
            news = _encode_news(items)
        return news

    def incoming_news(self, peer: PeerId, news: bytes) -> None:
        try:
            items = _decode_news(news)
        except (msgspec.MsgspecError, ValueError) as error:
            raise RemoteError(f"news of {peer} cannot be read: {error}") from None
        for item in items:
            self.table(item.parent).check_topic(item.topic)
        for item in items:
            table = self.table(item.parent)
            for dead in item.dead:
                table.bury(item.topic, dead)
            self._learn(table, item.topic, item.alive)

    # Dissemination (Fig. 8)

    def publish(self, event: Event) -> None:
        if self.ready:
            self.disseminate(event, 0)
        else:
            self.waiting.append(event)

    def disseminate(self, event: Event, hop: int) -> None:
        """Pass the event on and deliver it, if it is new here."""
        if not self.seen.add(event.id):
            return
        self._follow_size()
        random = self.port.rng.random
        psel = self.psel if event.psel is None else event.psel
        for table in self.tables.values():
            # Fig. 8 l.3 prints `RAND() >= psel`; 3.5 says: with probability psel.
            if random() < psel:
                for topic, view in table.views.items():
                    chosen = [peer for peer in view.peers if random() < self.pa]
                    if chosen:
                        self.port.send_all(chosen, Spread(event, hop + 1, topic, self.topic))
        # Fig. 8 l.9 prints `j <= ln N + c`; Table 2 only comes out with floor(ln N + c).
        peers = self.membership.sample(self.fanout)
        self.port.send_all(peers, Spread(event, hop + 1, self.topic))
        if self.subscribed:
            self.port.deliver(event, self.topic)

    # Bootstrapping (3.3, Fig. 5)

    def _seek(self, table: SuperTable) -> None:
        """Start FIND_SUPER_CONTACT unless it runs already or is not needed."""
        if not table.complete and not table.scope:
            self._search(table)

    def _search(self, table: SuperTable) -> None:
        """One round of FIND_SUPER_CONTACT. It starts at super(t), not at t as Fig. 5 l.22 has it."""
        self._take_given_contacts(table)
        if table.complete:
            # Whoever keeps them from now on is to know what for.
            self._look_up_again(table)
            return
        looks_up = self.membership.looks_up
        if not (looks_up or self.setting.neighbourhood):
            table.scope = []
            return
        if not table.scope:
            table.patience = 1
            table.widen()
            # Where something further up is known already, look for all below that.
            while table.views and table.widen():
                pass
        table.search_serial = next(self.serials)
        if looks_up:
            self.membership.look_up(table.wanted(), self.parameters.z, self._on_found)
        else:
            request = ReqContact(
                self.port.peer,
                table.search_serial,
                self.topic,
                table.parent,
                table.wanted(),
                self.parameters.search_ttl,
            )
            self.port.send_all(self.setting.neighbourhood, request)
        self.port.after(
            ns(self.parameters.search_timeout_s * table.patience),
            SearchTimeout(self.topic, table.parent, table.search_serial),
        )

    def _look_up_again(self, table: SuperTable) -> None:
        """Where the membership looks up contacts itself: renew what stands here."""
        if self.membership.looks_up and table.views and self._takes_found(table, table.parent):
            self.membership.look_up(tuple(table.views), self.parameters.z, self._on_found)

    def _on_found(self, topic: str, peers: Sequence[PeerId]) -> bool:
        """From a membership that looks up contacts itself (5.2): whom to know of that topic now."""
        wanted = False
        for table in self.tables.values():
            if self._takes_found(table, topic):
                if self.keeps_up or not table.complete:
                    table.clear(topic, peers)
                self._hear_of(table, topic, peers)
                wanted = wanted or self._takes_found(table, topic)
        return wanted

    def _takes_found(self, table: SuperTable, topic: str) -> bool:
        """Whether the topic's processes have a place there."""
        above = self.setting.topics.includes(topic, table.parent)
        return above and not table.covered(topic) and (self.keeps_up or not table.full)

    def _take_given_contacts(self, table: SuperTable) -> None:
        for topic in table.nearest_first():
            contacts = () if table.covered(topic) else self.setting.super_contacts.get(topic, ())
            if contacts:
                count = self.parameters.z
                drawn = sample_others(contacts, self.port.peer, count, self.port.rng.random)
                self._hear_of(table, topic, drawn)

    def on_search_timeout(self, timer: SearchTimeout) -> None:
        table = self.tables[timer.parent]
        if timer.serial == table.search_serial and table.scope:
            if not table.widen():
                # 3.3 has the search go on; a flood from everybody at the full rate would be N².
                table.patience = min(2 * table.patience, MAX_PATIENCE)
            self._search(table)

    def on_ans_contact(self, sender: PeerId, message: AnsContact) -> None:
        table = self.table(message.parent)
        table.check_topic(message.topic)
        if sender in message.peers:
            table.revive(message.topic, sender)
        self._hear_of(table, message.topic, message.peers)

    # Keeping communities in touch (3.4, Fig. 6)

    def _start_upkeep(self) -> None:
        """Begin, or begin anew, to wait for KEEP_TABLE_UPDATED."""
        self.upkeep_serial = 0
        if self.tables and self.parameters.maintain_every_s:
            self.upkeep_serial = next(self.serials)
            # Spread over the first period, lest all who join together check together for good.
            first = self.parameters.maintain_every_s * self.port.rng.random()
            self.port.after(ns(first), KeepTableUpdated(self.topic, self.upkeep_serial))

    def on_keep_table_updated(self, timer: KeepTableUpdated) -> None:
        if timer.serial != self.upkeep_serial:
            return
        self._follow_parents()
        for table in self.tables.values():
            self._seek(table)
            # Fig. 6 l.16 prints `RAND() >= psel`; 3.4 says: with probability psel.
            if table.views and self.port.rng.random() < self.psel:
                self._check(table)
        self.port.after(ns(self.parameters.maintain_every_s), timer)

    def _check(self, table: SuperTable) -> None:
        """CHECK, unless one is on: it may take longer than the time to the next."""
        if not table.check_serial:
            table.check_serial = next(self.serials)
            table.unanswered = table.entries
            table.found_dead = []
            self._ask_if_alive(table, 1)

    def _ask_if_alive(self, table: SuperTable, attempt: int) -> None:
        for topic in dict.fromkeys(topic for topic, _ in table.unanswered):
            peers = [peer for name, peer in table.unanswered if name == topic]
            question = Check(self.topic, table.parent, topic, table.check_serial)
            self.port.send_all(peers, question)
        self.port.after(
            ns(self.parameters.check_timeout_s),
            CheckTimeout(self.topic, table.parent, table.check_serial, attempt),
        )

    def on_alive(self, sender: PeerId, message: Alive) -> None:
        table = self.table(message.parent)
        entry = (message.topic, sender)
        if message.serial == table.check_serial and entry in table.unanswered:
            table.unanswered.remove(entry)
        if table.revive(message.topic, sender):
            # It answered late, it lives again, or others were wrong about it.
            self._learn(table, message.topic, (sender,))

    def on_check_timeout(self, timer: CheckTimeout) -> None:
        table = self.tables[timer.parent]
        if timer.serial != table.check_serial:
            return
        if table.unanswered and timer.attempt < self.parameters.check_attempts:
            self._ask_if_alive(table, timer.attempt + 1)
            return
        table.check_serial = 0
        table.found_dead, table.unanswered = table.unanswered, []
        for topic, peer in table.found_dead:
            table.bury(topic, peer)
        if not table.views:
            self._seek(table)
            return
        for topic, view in table.views.items():
            if len(view) <= self.parameters.tau:
                wanted = max(1, self.parameters.z - self.parameters.tau)
                request = NewProcessRequest(self.topic, table.parent, topic, wanted)
                self.port.send_all(tuple(view), request)

    def on_new_processes(self, sender: PeerId, message: NewProcesses) -> None:
        table = self.table(message.parent)
        table.check_topic(message.topic)
        table.revive(message.topic, sender)
        self._hear_of(table, message.topic, (sender, *message.peers))

    def _follow_parents(self) -> None:
        """A table for each parent; a topic may get further ones at any time."""
        for parent in self.setting.topics.supers(self.topic):
            if parent not in self.tables:
                self.tables[parent] = SuperTable(self.setting.topics, parent, self.parameters.z)

    # What others ask of us

    def some_members(self, count: int) -> tuple[PeerId, ...]:
        """Ourselves and others of this community, for a process below it."""
        return (self.port.peer, *self.membership.sample(count - 1))

    def other_members(self, count: int, requester: PeerId) -> tuple[PeerId, ...]:
        """So many that a process that knows us may not know yet."""
        members = self.membership.members
        return tuple(sample_others(members, requester, count, self.port.rng.random))

    def table(self, parent: str) -> SuperTable:
        if parent not in self.tables:
            self._follow_parents()  # others may have noticed a further one before us
        found = self.tables.get(parent)
        if found is None:
            raise RemoteError(f"{parent!r} is no parent of {self.topic!r}")
        return found

    def _hear_of(self, table: SuperTable, topic: str, peers: Sequence[PeerId]) -> None:
        """Take them in, but for those who were found dead: these are asked whether they live."""
        buried = () if table.covered(topic) else table.buried(topic, peers)
        question = Check(self.topic, table.parent, topic, table.search_serial)
        self.port.send_all(buried, question)
        self._learn(table, topic, peers)

    def _learn(self, table: SuperTable, topic: str, peers: Sequence[PeerId]) -> None:
        me = self.port.peer
        table.merge(topic, [peer for peer in peers if peer != me])

    def _population(self) -> Sequence[PeerId]:
        return self.setting.directory.community(self.topic)

    def _current_size(self) -> int:
        return self.parameters.size or self.counted or max(1, len(self._population()))

    def _on_size(self, size: int) -> None:
        self.counted = size
        self._follow_size()

    def _follow_size(self) -> None:
        if self.size != self._current_size():
            self.apply(self.parameters)

    def _table_size(self) -> int:
        b = self.parameters.b
        return self.fanout if b is None else math.floor((b + 1) * math.log(self.size))
