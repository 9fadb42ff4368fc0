"""The registrations that one peer holds: who is in which topic, by leases and versions.

A registration is the registrant's own word, and its later word counts, whichever way it comes:
from itself, or from another holder. What was taken back is kept until its lease ends, marked as
such. What is not renewed ends.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from agents.core.messages import PeerId
from agents.membership.pgrid.messages import Entry
from agents.membership.pgrid.trie import key_of

NS_PER_MS = 1_000_000

_encode = msgspec.msgpack.Encoder().encode


class Held(NamedTuple):
    version: int
    present: bool
    expires_at: int


class Registrations:
    """By topic and by peer."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[str, dict[PeerId, Held]] = {}

    def put(self, topic: str, peer: PeerId, held: Held, now: int) -> bool:
        """Take it in unless a later word is known; whether the topic's living are others now."""
        peers = self._held.setdefault(topic, {})
        known = peers.get(peer)
        if known is not None and known.version >= held.version:
            return False
        was_there = known is not None and known.present and known.expires_at > now
        peers[peer] = held
        return was_there != (held.present and held.expires_at > now)

    def living(self, topic: str, now: int) -> list[PeerId]:
        """Those registered, in the order in which they were heard of first."""
        peers = self._held.get(topic, {})
        return [p for p, held in peers.items() if held.present and held.expires_at > now]

    def expire(self, now: int) -> None:
        for topic, peers in list(self._held.items()):
            for peer in [p for p, held in peers.items() if held.expires_at <= now]:
                del peers[peer]
            if not peers:
                del self._held[topic]

    def under(self, path: str, now: int) -> list[Entry]:
        """All that whoever is responsible for that path must know."""
        return [
            Entry(topic, peer, held.version, held.present, (held.expires_at - now) // NS_PER_MS)
            for topic, peer, held in self._each(path)
            if held.expires_at > now
        ]

    def keep_only(self, paths: tuple[str, ...]) -> None:
        """Forget what does not lie under any of the paths."""
        for topic in [name for name in self._held if not key_of(name).startswith(paths)]:
            del self._held[topic]

    def digest(self, path: str, now: int) -> int:
        """The same for two who hold the same."""
        held = sorted(
            (topic, peer, held.version, held.present)
            for topic, peer, held in self._each(path)
            if held.expires_at > now
        )
        return int.from_bytes(blake2b(_encode(held), digest_size=7).digest())

    def _each(self, path: str) -> Iterator[tuple[str, PeerId, Held]]:
        for topic, peers in self._held.items():
            if key_of(topic).startswith(path):
                for peer, held in peers.items():
                    yield topic, peer, held
