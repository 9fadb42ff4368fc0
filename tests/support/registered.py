"""Everything registered, for tests that hold for whatever there is."""

from agents.core.membership import Membership
from agents.core.messages import Message
from agents.core.protocol import Protocol
from agents.core.registry import memberships, protocols

PROTOCOLS: list[type[Protocol]] = [protocols.load(name) for name in protocols.names()]
MEMBERSHIPS: list[type[Membership]] = [memberships.load(name) for name in memberships.names()]

LAYERS: list[type[Protocol] | type[Membership]] = [*PROTOCOLS, *MEMBERSHIPS]

PAIRS: list[tuple[type[Protocol], type[Membership]]] = [
    (protocol, membership)
    for protocol in PROTOCOLS
    for membership in MEMBERSHIPS
    if protocol.memberships is None or membership.name in protocol.memberships
]
"""Each protocol with each membership that it can stand on."""

MESSAGES: list[type[Message]] = list(
    dict.fromkeys(kind for layer in LAYERS for kind in layer.messages)
)
