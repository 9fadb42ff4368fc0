"""One peer's part in P-Grid: it comes in, meets others, answers searches and holds registrations.

Coming in. A newcomer looks, through a gateway, for whoever is responsible for a random key, and
meets that peer; it then has a path of one bit more, looks for somebody responsible for a random key
under that path, and so on until it meets somebody who was responsible for all under its own new
path, and takes over the registrations there. It is settled then, and answers searches itself. Who
is told of nobody, or is found to be alone under its path, is settled at once.

Staying. Every so often a settled peer meets one who has the same path (they compare what they
hold), or anybody; it asks the references of one level whether they live, drops those who do not,
and looks for others. Where nobody is left on the other side of a level, it gives that level up and
is responsible for both sides, until it meets somebody to share them with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from agents.core.draw import choice, sample
from agents.core.errors import RemoteError
from agents.core.messages import PeerId, ns
from agents.core.overlay import OVERLAY, Overlay, OverlayMessage, OverlayTimer
from agents.core.port import Port
from agents.core.protocol import make_parameters
from agents.core.setting import Setting
from agents.core.views import View
from agents.membership.pgrid.lookups import Lookups
from agents.membership.pgrid.meetings import Meetings
from agents.membership.pgrid.messages import (
    MAX_ENTRIES,
    MAX_REFERENCES,
    AnswerDue,
    Ask,
    Declined,
    Deregister,
    Directions,
    Entry,
    Find,
    Listing,
    Meet,
    Met,
    PGridParameters,
    RefreshDue,
    Register,
    Replicate,
)
from agents.membership.pgrid.registrations import NS_PER_MS, Held, Registrations
from agents.membership.pgrid.requests import Requests
from agents.membership.pgrid.search import Search
from agents.membership.pgrid.trie import Trie, bits, key_of, packed, unpacked

SHARING_A_PATH = 4
"""As few as may share a path on average, where `maxl` is not given. Ours."""
MOST_REPLICAS = 32
"""Known to a peer. Ours."""
MOST_UNSURE = 3
"""Times that a newcomer may come no further, until it settles all the same. Ours."""
DEAD_FOR = 10
"""Refreshes for which a peer that was found dead is not referred to again. Ours: by then the others
have found it too."""
VAIN_SEARCHES = 3
"""For the other side of a level, in as many periods, until it is given up. Ours."""


class PGridNode(Overlay):
    """Its state: the path with its references, the replicas, the registrations that it holds, its
    own registrations, and the questions that wait for answers."""

    messages = (
        *(Ask, Directions, Meet, Met, Declined),
        *(Register, Find, Listing, Deregister, Replicate),
    )

    def __init__(self, port: Port, setting: Setting) -> None:
        super().__init__(port, setting)
        given, own = setting.membership_parameters, PGridParameters.__struct_fields__
        knobs = make_parameters(PGridParameters, {n: v for n, v in given.items() if n in own})
        self.parameters = knobs
        self.trie = Trie(port.peer, knobs.refmax, port.rng.random)
        self.settled = False
        self.replicas = View(MOST_REPLICAS)
        """Others with the same path, who hold the same registrations."""
        self.registrations = Registrations()
        self.requests = Requests(port, ns(knobs.answer_timeout_s))
        self.lookups = Lookups(self, self.requests, ns(knobs.answer_timeout_s))
        self.meetings = Meetings(self)
        self.ceding: dict[PeerId, str] = {}
        """What was ours until a meeting, and whose it is as soon as that peer says that it knows."""
        self._dead_since: dict[PeerId, int] = {}
        """Whom we found dead: not to be taken back on hearsay."""
        self._vain: dict[int, int] = {}
        """By level: for how many periods nobody was found on its other side."""
        self._unsure = 0
        """How often in a row we came no further."""
        self._level = 0
        """The last whose references were asked whether they live."""

    @property
    def maxl(self) -> int:
        asked = self.parameters.maxl
        if asked is not None:
            return asked
        shared = len(self.setting.directory.everyone) / SHARING_A_PATH
        return math.floor(math.log2(shared)) if shared > 1 else 0

    # What the layers above ask for

    def register(
        self, topic: str, count: int, on_listing: Callable[[int, Sequence[PeerId]], None]
    ) -> None:
        """Be found under that topic until `deregister`, and be told of `count` others in it, now
        and at every refresh."""
        self.lookups.register(topic, count, on_listing)

    def deregister(self, topic: str) -> None:
        self.lookups.deregister(topic)

    def search_peers(
        self, topic: str, count: int, found: Callable[[int, Sequence[PeerId]], None]
    ) -> None:
        """How many are registered, and a uniform sample of them (CAMCAST 5.2.3; with a few, what
        5.2.2 has `getContact` for)."""
        self.lookups.search_peers(topic, count, found)

    # Life

    def start(self) -> None:
        # Anywhere in a period, so that those who started together do not refresh together.
        first = ns(self.parameters.refresh_s * self.port.rng.random())
        self.port.after(first, RefreshDue())
        if self._contacts():
            self._find_place()
        else:
            self.settled = True

    def stop(self) -> None:
        # The registrations that it holds are with others of its path, too, or are made anew with those
        # who take its place, as after a crash.
        self.requests.clear()

    def on_timer(self, timer: OverlayTimer) -> None:
        if isinstance(timer, AnswerDue):
            self.requests.on_due(timer.serial)
        else:
            self.port.after(ns(self.parameters.refresh_s), timer)
            self._refresh()

    def on_message(self, sender: PeerId, message: OverlayMessage) -> None:
        if sender == self.port.peer:
            raise RemoteError("a message of ours came back as another's")
        self._dead_since.pop(sender, None)
        match message:
            case Ask():
                self._on_ask(sender, message)
            case Meet():
                self.meetings.on_meet(sender, message)
            case Directions() | Met() | Declined() | Listing():
                self.requests.on_answer(sender, message.serial, message)
            case Register():
                self._on_register(sender, message)
            case Find():
                self._on_find(sender, message)
            case Deregister():
                self._on_deregister(sender, message)
            case Replicate():
                self._on_replicate(sender, message)
            case _:
                raise RemoteError(f"P-Grid takes no {type(message).__name__}")

    # Coming in

    def _find_place(self) -> None:
        """One bit further, or settled."""
        trie = self.trie
        start = [*self._contacts(), *trie.known()]
        self._search(trie.key_under(trie.path), start, self._on_place, avoid=self.port.peer)

    def _on_place(self, search: Search, peer: PeerId | None) -> None:
        if self.settled:
            return
        path = self.trie.path
        # Where nobody is responsible, others may be on their way to the same place.
        peer = peer if peer is not None else search.near(path)

        def then(_met: bool) -> None:
            if self.settled:
                return
            if self.trie.path != path:
                self._unsure = 0
                self._find_place()
            else:
                self._wait_for_place()

        if peer is not None:
            self.meetings.arrange(peer, 0, then)
        elif search.heard and search.all_answered:
            self.settle()
        else:
            self._wait_for_place()

    def _wait_for_place(self) -> None:
        self._unsure += 1
        if self._unsure > MOST_UNSURE:
            # All others are dead, or wait for each other: somebody must begin.
            self.settle()
        else:
            self._later(self._find_place)

    def settle(self) -> None:
        """Answer searches from now on."""
        self.settled = True
        self.lookups.renew_all()

    def _later(self, action: Callable[[], None]) -> None:
        """In a while: half of what one waits for an answer, or up to all of it."""
        share = 0.5 + 0.5 * self.port.rng.random()
        self.requests.later(ns(self.parameters.answer_timeout_s * share), action)

    def _contacts(self) -> list[PeerId]:
        """As they are now: a host may know who is up, and tell others each time."""
        return [p for p in self.setting.contacts.get(OVERLAY, ()) if p != self.port.peer]

    # Staying

    def _refresh(self) -> None:
        self.registrations.expire(self.port.now)
        since = self.port.now - DEAD_FOR * ns(self.parameters.refresh_s)
        self._dead_since = {p: at for p, at in self._dead_since.items() if at > since}
        self.lookups.renew_all()
        if self.settled:
            self._meet_somebody()
            self._look_after_references()

    def _meet_somebody(self) -> None:
        """One who has our path, every other time; anybody at all, through a gateway, otherwise."""
        trie, random = self.trie, self.port.rng.random
        if random() < 0.5:
            if self.replicas.peers and random() < 0.75:
                self._meet(choice(self.replicas.peers, random))
                return
            key, start = trie.key_under(trie.path), trie.known()
        else:
            key, start = trie.key_under(""), self._contacts()
        start = start or trie.known() or self._contacts()
        self._search(key, start, self._meet_found, avoid=self.port.peer)

    def _meet_found(self, _search: Search, peer: PeerId | None) -> None:
        if peer is not None:
            self._meet(peer)

    def _meet(self, peer: PeerId) -> None:
        """Whose path is as long as it gets has nothing to gain from further meetings."""
        grown = len(self.trie.path) >= self.maxl
        self.meetings.arrange(peer, self.parameters.recmax if grown else 0)

    def _look_after_references(self) -> None:
        trie = self.trie
        empty = [level for level, known in enumerate(trie.references, 1) if not known]
        for level in empty:
            self._fill(level)
        for peer, area in list(self.ceding.items()):
            self._cede(peer, area)
        for level in [level for level in self._vain if level not in empty]:
            del self._vain[level]
        if trie.references and not empty:
            self._level = self._level % len(trie.references) + 1
            for peer in list(trie.references[self._level - 1]):
                self._ping(peer)

    def _cede(self, peer: PeerId, area: str) -> None:
        """The peer has not said that it knows: look whether another is responsible by now."""

        def done(_search: Search, other: PeerId | None) -> None:
            if other is not None and self.ceding.get(peer) == area:
                self.hand_over(other, self.registrations.under(area, self.port.now))
                del self.ceding[peer]
                self.forget_others_registrations()

        trie = self.trie
        start = [*trie.towards(trie.key_under(area)), *self._contacts()]
        self._search(trie.key_under(area), start, done, avoid=self.port.peer)

    def _fill(self, level: int) -> None:
        """Look for somebody on the other side of that level."""
        trie = self.trie
        path = trie.path
        start = [*trie.known(), *self.replicas.peers, *self._contacts()]

        def done(search: Search, peer: PeerId | None) -> None:
            if trie.path != path or trie.references[level - 1]:
                return  # it is another level now, or somebody was found meanwhile
            if peer is not None:
                # It may be responsible for both sides, and then takes the other one.
                self.meetings.arrange(peer, 0)
                return
            self._vain[level] = self._vain.get(level, 0) + 1
            if self._vain[level] >= VAIN_SEARCHES and not self.meetings.under_way:
                self._vain.clear()
                trie.retreat(level)
                self.replicas = View(MOST_REPLICAS)

        self._search(trie.key_across(level), start, done, avoid=self.port.peer)

    def _ping(self, peer: PeerId) -> None:
        """Ask the peer whether it lives, and drop it when it does not."""

        def on_answer(sender: PeerId, answer: OverlayMessage) -> None:
            assert isinstance(answer, Directions)
            self.note(sender, unpacked(answer.path))

        key = int(self.trie.key_under(""), 2)
        self.requests.ask(
            peer,
            lambda serial: Ask(serial, key),
            (Directions,),
            on_answer,
            partial(self.bury, peer),
        )

    def note(self, peer: PeerId, path: str) -> None:
        """That is where the peer is now."""
        self.trie.note(peer, path)
        ceded = self.ceding.get(peer)
        if ceded is not None and path.startswith(ceded):
            # Some may have registered since the meeting.
            self.hand_over(peer, self.registrations.under(path, self.port.now))
            del self.ceding[peer]
            self.forget_others_registrations()

    def not_dead(self, peers: Sequence[PeerId]) -> list[PeerId]:
        """Of those whom another refers to: without those whom we found dead lately."""
        return [peer for peer in peers if peer not in self._dead_since]

    def forget_others_registrations(self) -> None:
        self.registrations.keep_only((self.trie.path, *self.ceding.values()))

    def bury(self, peer: PeerId) -> None:
        """Know it no more."""
        self._dead_since[peer] = self.port.now
        self.trie.drop(peer)
        self.replicas.remove(peer)
        self.lookups.forget_holder(peer)

    # Searching

    def locate(self, key: str, done: Callable[[Search, PeerId | None], None]) -> None:
        """Find somebody responsible for the key: from our references or, until we have some that
        can be relied on, from our contacts."""
        towards = self.trie.towards(key)
        contacts = self._contacts()
        start = [*towards, *contacts] if self.settled else [*contacts, *towards]
        self._search(key, start, done)

    def _search(
        self,
        key: str,
        start: Sequence[PeerId],
        done: Callable[[Search, PeerId | None], None],
        avoid: PeerId | None = None,
    ) -> None:
        self._step(Search(key, self.port.peer, avoid, start, done))

    def _step(self, search: Search) -> None:
        peer = search.next()
        if peer is None:
            search.done(search, None)
            return

        def on_answer(sender: PeerId, answer: OverlayMessage) -> None:
            assert isinstance(answer, Directions)
            search.heard.append((sender, unpacked(answer.path)))
            self.note(sender, unpacked(answer.path))
            if answer.responsible:
                search.done(search, sender)
            else:
                search.add(answer.peers)
                self._step(search)

        def on_silence() -> None:
            self.bury(peer)
            self._step(search)

        key = int(search.key, 2)
        self.requests.ask(
            peer,
            lambda serial: Ask(serial, key, search.avoid),
            (Directions,),
            on_answer,
            on_silence,
        )

    def _on_ask(self, sender: PeerId, message: Ask) -> None:
        key, trie, avoid = bits(message.key), self.trie, message.avoid
        responsible = self.is_responsible(key) and avoid != self.port.peer
        peers: list[PeerId] = []
        if not responsible:
            peers = trie.towards(key)
            if not self.settled:
                peers += self._contacts()
        others = tuple(dict.fromkeys(p for p in peers if p not in (sender, avoid)))
        few = others[:MAX_REFERENCES]
        self.port.send(sender, Directions(message.serial, packed(trie.path), responsible, few))

    # Registrations

    def is_responsible(self, key: str) -> bool:
        return self.settled and key.startswith((self.trie.path, *self.ceding.values()))

    def _on_register(self, sender: PeerId, message: Register) -> None:
        _check_topic(message.topic)
        if not self.is_responsible(key_of(message.topic)):
            self.port.send(sender, Declined(message.serial))
            return
        # Of those before it: who joins through them must not be told of one who came after.
        registered, peers = self.list_here(sender, message.topic, message.count)
        self.register_here(sender, message.topic, message.version)
        self.port.send(sender, Listing(message.serial, registered, tuple(peers)))

    def _on_find(self, sender: PeerId, message: Find) -> None:
        _check_topic(message.topic)
        if not self.is_responsible(key_of(message.topic)):
            self.port.send(sender, Declined(message.serial))
            return
        registered, peers = self.list_here(sender, message.topic, message.count)
        self.port.send(sender, Listing(message.serial, registered, tuple(peers)))

    def _on_deregister(self, sender: PeerId, message: Deregister) -> None:
        _check_topic(message.topic)
        if self.is_responsible(key_of(message.topic)):
            self.deregister_here(sender, message.topic, message.version)

    def register_here(self, peer: PeerId, topic: str, version: int) -> None:
        self._put(peer, topic, version, True)

    def deregister_here(self, peer: PeerId, topic: str, version: int) -> None:
        self._put(peer, topic, version, False)

    def list_here(self, asker: PeerId, topic: str, count: int) -> tuple[int, Sequence[PeerId]]:
        """How many are registered beside the asker, and some of them."""
        living = self.registrations.living(topic, self.port.now)
        others = [peer for peer in living if peer != asker]
        return len(others), sample(others, count, self.port.rng.random)

    def _put(self, peer: PeerId, topic: str, version: int, present: bool) -> None:
        lease_ns = ns(self.parameters.registration_lease_s)
        held = Held(version, present, self.port.now + lease_ns)
        self.registrations.put(topic, peer, held, self.port.now)
        entry = Entry(topic, peer, version, present, lease_ns // NS_PER_MS)
        self.port.send_all(tuple(self.replicas.peers), Replicate(packed(self.trie.path), (entry,)))

    def _on_replicate(self, sender: PeerId, message: Replicate) -> None:
        for entry in message.entries:
            _check_topic(entry.topic)
        path = unpacked(message.path)
        self.note(sender, path)
        if path == self.trie.path:
            self.replicas.add(sender)
        news = self.take(message.entries)
        if news and self.settled:
            # Those who are new here may be new to others, whom the sender does not know.
            others = [p for p in self.replicas if p != sender]
            self.port.send_all(others, Replicate(packed(self.trie.path), tuple(news)))

    def take(self, entries: Sequence[Entry]) -> list[Entry]:
        """Keep what we are responsible for; those who were not there before, or no longer are."""
        now = self.port.now
        longest = ns(self.parameters.registration_lease_s) // NS_PER_MS
        news = []
        for entry in entries:
            if self.trie.covers(key_of(entry.topic)):
                expires_at = now + min(entry.remaining_ms, longest) * NS_PER_MS
                held = Held(entry.version, entry.present, expires_at)
                if self.registrations.put(entry.topic, entry.peer, held, now):
                    news.append(entry)
        return news

    def hand_over(self, peer: PeerId, entries: Sequence[Entry]) -> None:
        """Send registrations to whoever is responsible for them too."""
        for first in range(0, len(entries), MAX_ENTRIES):
            some = tuple(entries[first : first + MAX_ENTRIES])
            self.port.send(peer, Replicate(packed(self.trie.path), some))


def _check_topic(topic: str) -> None:
    if not topic.isascii():
        raise RemoteError(f"{topic!r} is no topic's name")
