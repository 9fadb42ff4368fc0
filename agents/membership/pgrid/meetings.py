"""Meetings of two peers, over messages: EXCHANGE, one meeting at a time.

The one who is met does the exchange for both, with what it was told of the other's place, and says
what came of it. So that this still holds when the answer arrives, a peer that waits for one declines
to be met. Those whom it is to meet next wait in a queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agents.core.errors import RemoteError
from agents.core.messages import PeerId
from agents.core.overlay import OverlayMessage
from agents.core.views import View
from agents.membership.pgrid.messages import MAX_ENTRIES, Declined, Entry, Meet, Met, Replicate
from agents.membership.pgrid.trie import packed, unpacked

if TYPE_CHECKING:
    from agents.membership.pgrid.node import PGridNode

MOST_WAITING = 32
"""Meetings to come. Ours: recursion of depth 2 makes at most 2 · (1 + 2)."""

MOST_REMEMBERED = 16
"""Answers. Ours: whoever did not get one asks again within seconds."""

OnMet = Callable[[bool], None]
"""Is told whether the meeting took place."""


class Meetings:
    """Knows whom to meet next, and does what comes of a meeting."""

    def __init__(self, node: PGridNode) -> None:
        self._node = node
        self._waiting: deque[tuple[PeerId, int, OnMet | None]] = deque()
        self.under_way = False
        """Whether we wait for the answer of one whom we asked to meet us."""
        self._answers: dict[PeerId, Met] = {}
        """The last to each: who asks again has not got it, and must get the same."""
        self.count = 0
        """How many took place here, with whoever asked us."""

    def arrange(self, peer: PeerId, depth: int, then: OnMet | None = None) -> None:
        """Meet the peer as soon as no other meeting is under way."""
        if peer == self._node.port.peer or len(self._waiting) >= MOST_WAITING:
            if then is not None:
                then(False)
            return
        self._waiting.append((peer, depth, then))
        self._next()

    def _next(self) -> None:
        if self.under_way or not self._waiting:
            return
        peer, depth, then = self._waiting.popleft()
        self.under_way = True
        node, trie = self._node, self._node.trie
        digest = node.registrations.digest(trie.path, node.port.now)

        def question(serial: int) -> Meet:
            return Meet(
                serial,
                packed(trie.path),
                tuple(tuple(level) for level in trie.references),
                tuple(node.replicas),
                depth,
                node.settled,
                digest,
            )

        def on_answer(sender: PeerId, answer: OverlayMessage) -> None:
            if isinstance(answer, Met):
                self._on_met(sender, answer, depth)
            self._over(then, isinstance(answer, Met))

        def on_silence() -> None:
            node.bury(peer)
            self._over(then, False)

        node.requests.ask(peer, question, (Met, Declined), on_answer, on_silence)

    def _over(self, then: OnMet | None, met: bool) -> None:
        self.under_way = False
        if then is not None:
            then(met)
        self._next()

    # As the one who is met

    def on_meet(self, sender: PeerId, message: Meet) -> None:
        path = unpacked(message.path)
        if len(message.references) != len(path):
            raise RemoteError(f"{sender} has a path of {len(path)} bits and refers by others")
        node, trie = self._node, self._node.trie
        known = self._answers.get(sender)
        if known is not None and known.serial == message.serial:
            node.port.send(sender, known)
            return
        if self.under_way or (message.settled and not node.settled):
            # Nor does a newcomer take anything from one who is responsible for it: it has a place
            # to find first.
            node.port.send(sender, Declined(message.serial))
            return
        self.count += 1
        before, digest = trie.path, node.registrations.digest(trie.path, node.port.now)
        outcome = trie.meet(
            sender,
            path,
            [node.not_dead(level) for level in message.references],
            maxl=node.maxl,
            further=message.depth < node.parameters.recmax,
        )
        # We may still be responsible for what another was to take: then this one can have it.
        ceded = [area for area in node.ceding.values() if outcome.path.startswith(area)]
        origin = ceded[0] if ceded else before
        if ceded and outcome.path == origin:
            node.ceding = {p: q for p, q in node.ceding.items() if q != origin}
            node.ceding[sender] = origin
        entries: list[Entry] = []
        if outcome.path.startswith(origin) and not (
            outcome.path == before and message.digest == digest
        ):
            entries = node.registrations.under(outcome.path, node.port.now)
        node.hand_over(sender, entries[MAX_ENTRIES:])
        answer = Met(
            message.serial,
            packed(outcome.path),
            tuple((level, tuple(peers)) for level, peers in outcome.references.items()),
            packed(origin),
            packed(trie.path),
            node.settled,
            tuple(node.replicas) if trie.path == outcome.path else (),
            tuple(outcome.its_meetings),
            digest,
            tuple(entries[:MAX_ENTRIES]),
        )
        if trie.path != before and node.settled:
            node.ceding[sender] = outcome.path
        self._moved(before, sender, outcome.path, message.replicas)
        node.port.send(sender, answer)
        self._answers.pop(sender, None)
        self._answers[sender] = answer
        if len(self._answers) > MOST_REMEMBERED:
            del self._answers[next(iter(self._answers))]
        for peer in outcome.our_meetings:
            self.arrange(peer, message.depth + 1)

    # As the one who asked for it

    def _on_met(self, sender: PeerId, answer: Met, depth: int) -> None:
        node, trie = self._node, self._node.trie
        before, path = trie.path, unpacked(answer.path)
        if path[: len(before)] != before or len(path) > len(before) + 1:
            raise RemoteError(f"a meeting cannot lead from the path {before!r} to {path!r}")
        if any(level > len(path) for level, _ in answer.references):
            raise RemoteError(f"there are references for more than the {len(path)} bits of a path")
        its_before, its_path = unpacked(answer.before), unpacked(answer.after)
        if path != before:
            trie.extend(path[-1], ())
        for level, peers in answer.references:
            trie.set_level(level, node.not_dead(peers))
        now = node.port.now
        entries: list[Entry] = []
        if its_path.startswith(before) and not (
            its_path == before and answer.digest == node.registrations.digest(before, now)
        ):
            entries = node.registrations.under(its_path, now)
        node.take(answer.entries)
        self._moved(before, sender, its_path, answer.replicas)
        trie.note(sender, its_path)
        node.hand_over(sender, entries)
        if path != before and not entries:
            node.port.send(sender, Replicate(packed(path), ()))  # that is where we are now
        if answer.settled and not node.settled and path.startswith(its_before):
            node.settle()
        for peer in answer.meet:
            self.arrange(peer, depth + 1)

    # As either

    def _moved(
        self, before: str, other: PeerId, its_path: str, its_replicas: Sequence[PeerId]
    ) -> None:
        """Follow from where we are now and where the other is."""
        node, path = self._node, self._node.trie.path
        if path != before:
            node.replicas = View(node.replicas.capacity)
            node.forget_others_registrations()
        if path == its_path:
            me = node.port.peer
            living = node.not_dead(its_replicas)
            new = [p for p in living if p != me and p not in node.replicas]
            node.replicas.add(other)
            for peer in new:
                node.replicas.add(peer)
            # So that they know us as well.
            node.port.send_all(new, Replicate(packed(path), ()))
