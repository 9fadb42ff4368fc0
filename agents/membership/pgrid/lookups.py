"""What the layers above ask of the overlay: to be registered, and to find who else is.

Each is a search for whoever is responsible for the topic's key, then one question to that peer. The
peer is remembered and asked directly the next time; when it is silent or no longer responsible,
the search begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from agents.core.messages import PeerId
from agents.core.overlay import OverlayMessage
from agents.core.port import Port
from agents.membership.pgrid.messages import (
    MAX_COUNT,
    Declined,
    Deregister,
    Find,
    Listing,
    Register,
)
from agents.membership.pgrid.requests import Requests
from agents.membership.pgrid.search import Search
from agents.membership.pgrid.trie import key_of

TRIES = 3
"""Before a question is given up until the next renewal, or the next time it is asked. Ours."""

OnListing = Callable[[int, Sequence[PeerId]], None]
"""Is told how many are registered, and some of them."""


class Place(Protocol):
    """The peer's own part in the overlay."""

    port: Port

    def is_responsible(self, key: str) -> bool: ...
    def locate(self, key: str, done: Callable[[Search, PeerId | None], None]) -> None: ...
    def register_here(self, peer: PeerId, topic: str, version: int) -> None: ...
    def deregister_here(self, peer: PeerId, topic: str, version: int) -> None: ...
    def list_here(self, asker: PeerId, topic: str, count: int) -> tuple[int, Sequence[PeerId]]: ...


class Registration:
    """This peer's own, in one topic."""

    __slots__ = ("asked", "count", "listed", "on_listing", "under_way")

    def __init__(self, count: int, on_listing: OnListing) -> None:
        self.count = self.asked = count
        """How many are wanted, and for how many was asked last."""
        self.on_listing = on_listing
        self.listed = False
        self.under_way = False


class Lookups:
    """Registrations of this peer's own, and its searches for others'."""

    def __init__(self, place: Place, requests: Requests, retry_ns: int) -> None:
        self._place = place
        self._requests = requests
        self._retry_ns = retry_ns
        self._registrations: dict[str, Registration] = {}
        self._holders: dict[str, PeerId] = {}
        """By topic: who answered last."""
        self._finding: dict[tuple[str, int], list[OnListing]] = {}
        """By topic and number: who waits for the search that is under way."""
        self._version = 0

    def register(self, topic: str, count: int, on_listing: OnListing) -> None:
        """Be registered until `deregister`; `on_listing` is called at every renewal, with so many
        of those who were registered before."""
        registration = Registration(count, on_listing)
        self._registrations[topic] = registration
        self._renew(topic, registration)

    def deregister(self, topic: str) -> None:
        """Best effort: where the word does not arrive, the lease ends."""
        if self._registrations.pop(topic, None) is None:
            return
        place, version = self._place, self._next_version()
        if place.is_responsible(key_of(topic)):
            place.deregister_here(place.port.peer, topic, version)
        elif topic in self._holders:
            place.port.send(self._holders[topic], Deregister(topic, version))

    def resize(self, topic: str, count: int) -> None:
        """So many from now on, beginning now."""
        registration = self._registrations.get(topic)
        if registration is not None and registration.count != count:
            registration.count = count
            self._renew(topic, registration)

    def renew_all(self) -> None:
        for topic, registration in list(self._registrations.items()):
            self._renew(topic, registration)

    def search_peers(self, topic: str, count: int, found: OnListing) -> None:
        """A uniform sample of those registered, this peer not among them. `found` is not called if
        nobody responsible can be reached. Who asks while the same is being asked gets its answer."""
        place = self._place
        if place.is_responsible(key_of(topic)):
            found(*place.list_here(place.port.peer, topic, count))
            return
        under_way = self._finding.get((topic, count))
        if under_way is not None:
            under_way.append(found)
            return
        self._finding[topic, count] = [found]

        def question(serial: int) -> OverlayMessage:
            return Find(serial, topic, min(count, MAX_COUNT))

        def listed(registered: int, peers: Sequence[PeerId]) -> None:
            for asker in self._finding.pop((topic, count)):
                asker(registered, peers)

        def failed() -> None:
            del self._finding[topic, count]

        self._ask(topic, question, listed, failed, TRIES)

    def forget_holder(self, peer: PeerId) -> None:
        for topic in [name for name, holder in self._holders.items() if holder == peer]:
            del self._holders[topic]

    def _renew(self, topic: str, registration: Registration) -> None:
        if registration.under_way:
            return
        place, version = self._place, self._next_version()

        def listed(registered: int, peers: Sequence[PeerId]) -> None:
            registration.under_way = False
            if self._registrations.get(topic) is registration:
                registration.listed = True
                registration.on_listing(registered, peers)
                if registration.asked != registration.count:
                    self._renew(topic, registration)
            elif topic not in self._registrations and topic in self._holders:
                # It was left while it was being registered.
                place.port.send(self._holders[topic], Deregister(topic, self._next_version()))

        def failed() -> None:
            registration.under_way = False
            if self._registrations.get(topic) is registration and not registration.listed:
                # Somebody waits for it, and not only for the next renewal.
                registration.under_way = True
                self._requests.later(self._retry_ns, again)

        def again() -> None:
            registration.under_way = False
            if self._registrations.get(topic) is registration:
                self._renew(topic, registration)

        if place.is_responsible(key_of(topic)):
            registration.asked = registration.count
            before = place.list_here(place.port.peer, topic, registration.count)
            place.register_here(place.port.peer, topic, version)
            listed(*before)
            return

        def question(serial: int) -> OverlayMessage:
            registration.asked = registration.count
            return Register(serial, topic, version, min(registration.count, MAX_COUNT))

        registration.under_way = True
        self._ask(topic, question, listed, failed, TRIES)

    def _ask(
        self,
        topic: str,
        question: Callable[[int], OverlayMessage],
        found: OnListing,
        failed: Callable[[], None],
        tries: int,
    ) -> None:
        """One try after the other: whom we know to be responsible, else whom a search finds."""
        if not tries:
            failed()
            return
        again = partial(self._ask, topic, question, found, failed, tries - 1)

        def ask(holder: PeerId) -> None:
            self._requests.ask(
                holder, question, (Listing, Declined), on_answer, partial(give_up, holder)
            )

        def on_answer(holder: PeerId, answer: OverlayMessage) -> None:
            if isinstance(answer, Listing):
                self._holders[topic] = holder
                me = self._place.port.peer
                found(answer.registered, [p for p in dict.fromkeys(answer.peers) if p != me])
            else:
                give_up(holder)

        def give_up(holder: PeerId) -> None:
            if self._holders.get(topic) == holder:
                del self._holders[topic]
            again()

        def located(_search: Search, holder: PeerId | None) -> None:
            if holder is None:
                again()
            else:
                ask(holder)

        if topic in self._holders:
            ask(self._holders[topic])
        else:
            self._place.locate(key_of(topic), located)

    def _next_version(self) -> int:
        """Later than any before, in this life of the peer and in those before it."""
        self._version = max(self._version + 1, self._place.port.now)
        return self._version
