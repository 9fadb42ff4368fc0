"""SCAMP: views that grow to (c + 1) ln N by themselves, with nobody knowing N.

"Peer-to-peer membership management for gossip-based protocols" (Ganesh, Kermarrec, Massoulié).
The membership of CAMCAST's unstructured version, and of the semi-structured one's tables (5.2).

State: the view (whom we know and send to), the in-view (who knows us), and whether a subscription
of ours waits for its answer. Entries of either may have a lease.

Messages. A `Subscription` goes to a contact and, with indirection, walks on at random before it
finds the member that acts as the contact; that one answers with a `Welcome` and sends copies,
`ForwardedSubscription`, each of which wanders until somebody keeps it and says so:
`SubscriptionKept`. `ScampHeartbeat` goes to the view, so that who hears none knows that nobody has
it in view. `Unsubscription` is the farewell, to both views. Welcomes, heartbeats and "kept" carry
the news of the layer above.

Timers. `AnswerDue`: ask somebody else. `HeartbeatDue`: send them, and look whether we hear any.
`RenewalDue`: subscribe again before the lease ends. `ExpiryDue`: drop entries whose lease ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from agents.core.draw import choice, sample
from agents.core.errors import LocalError, RemoteError
from agents.core.membership import Carrier, Membership, Population
from agents.core.messages import Hop, Message, Peer, PeerId, ScopedMessage, ScopedTimer, ns
from agents.core.port import Port
from agents.core.protocol import Parameters
from agents.core.registry import memberships
from agents.core.setting import Setting
from agents.core.views import View

NEVER = 1 << 62

RENEWAL_AT = 0.8
"""Of a lease. Ours: leaves a fifth of it for the copies to settle and for further attempts."""

LEAST_COPIES = 3
"""Of a renewal. Ours: with 1, small groups of c = 0 fell apart within 40 leases (13 of 30 runs with
5 members, 2 of 30 with 12); with 3 none did."""

News = Annotated[bytes, Meta(max_length=16_384)]
"""The bound is ours: it leaves room in a frame, and a table of peers takes far less."""


Copies = Annotated[int, Meta(ge=0, le=1024)]


class Subscription(ScopedMessage, frozen=True):
    """Asks for membership on the subscriber's behalf."""

    subscriber: Peer
    copies: Copies
    """How many a member asks for that subscribes again; 0 from a newcomer, who cannot know."""
    budget: Annotated[float, Meta(ge=0, le=1)]
    """What the walk may still spend, 1/degree a hop; at 0 the receiver acts as the contact."""


class ForwardedSubscription(ScopedMessage, frozen=True):
    """One copy of a subscription, looking for a view to be kept in."""

    subscriber: Peer
    hops: Hop
    """How many times it has been sent when it arrives; 1 from the contact."""


class Welcome(ScopedMessage, frozen=True):
    """The contact's answer to the subscriber."""

    renewal: bool
    news: News = b""


class SubscriptionKept(ScopedMessage, frozen=True):
    """The sender has taken the receiver into its view, or taken it in anew."""

    news: News = b""


class ScampHeartbeat(ScopedMessage, frozen=True):
    """The sender is alive and has the receiver in its view as before."""

    news: News = b""


class Unsubscription(ScopedMessage, frozen=True):
    """The sender leaves; who has it in view may put the replacement in its place."""

    replacement: Peer | None = None


class AnswerDue(ScopedTimer, frozen=True):
    epoch: int
    request: int


class HeartbeatDue(ScopedTimer, frozen=True):
    epoch: int


class RenewalDue(ScopedTimer, frozen=True):
    epoch: int


class ExpiryDue(ScopedTimer, frozen=True):
    epoch: int


class ScampParameters(Parameters, frozen=True):
    c: Annotated[int, Meta(ge=0, le=50)] = 0
    """Copies beyond one for each member of the contact's view, and so views of (c + 1) ln N; also
    the share of failures tolerated, c / (c + 1). 0 in CAMCAST's LAN measurements (6.2.1)."""
    indirection: bool = True
    """Ours: CAMCAST's processes join through few gateways (5.2.1), which is what it is for."""
    lease_s: Annotated[float, Meta(ge=0)] = 600.0
    """0 for entries without end. Ours: the paper gives none. The dead stay in views that long, and
    every member subscribes anew that often."""
    heartbeat_s: Annotated[float, Meta(ge=0)] = 5.0
    """0 for none, and so no notice of isolation. Ours: the paper gives none."""
    isolation_s: Annotated[float, Meta(gt=0)] = 20.0
    """Without a heartbeat, until we take ourselves for isolated. Ours: four lost in a row from
    everybody who has us in view."""
    join_timeout_s: Annotated[float, Meta(gt=0)] = 2.0
    """Without a welcome, until the next contact is asked. Ours: a walk takes some 2 (c + 1) ln N
    hops."""
    max_forwards: Annotated[int, Meta(ge=1, lt=1 << 16)] = 128
    """Ours: five times the hops that a copy takes on average among 10,000 members with c = 2."""
    capacity: Annotated[int, Meta(ge=2, le=1024)] = 256
    """Of view and in-view each. Ours: ten times the mean among 10,000 members with c = 2."""

    def __post_init__(self) -> None:
        if 0 < self.isolation_s <= self.heartbeat_s:
            raise ValueError("isolation_s must be longer than heartbeat_s")
        if 0 < self.lease_s * (1 - RENEWAL_AT) <= self.join_timeout_s:
            raise ValueError("lease_s must be longer: a fifth of it must exceed join_timeout_s")


class Table(View):
    """A view whose entries end, each at its time."""

    __slots__ = ("expires_at",)

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.expires_at: list[int] = []

    def add(self, peer: PeerId) -> bool:
        return peer not in self.peers and self.keep(peer, NEVER)

    def keep(self, peer: PeerId, until: int) -> bool:
        """Add the peer or prolong its lease; whether it is there now."""
        if peer in self.peers:
            self.expires_at[self.peers.index(peer)] = until
            return True
        if self.full:
            return False
        self.peers.append(peer)
        self.expires_at.append(until)
        return True

    def remove(self, peer: PeerId) -> bool:
        if peer not in self.peers:
            return False
        position = self.peers.index(peer)
        last = self.expires_at.pop()
        if position < len(self.expires_at):
            self.expires_at[position] = last
        return super().remove(peer)

    def expire(self, now: int) -> None:
        for peer in [
            p for p, until in zip(self.peers, self.expires_at, strict=True) if until <= now
        ]:
            self.remove(peer)

    def living_beyond(self, time: int) -> list[PeerId]:
        """Those whose lease ends later than that."""
        return [p for p, until in zip(self.peers, self.expires_at, strict=True) if until > time]

    def clear(self) -> None:
        self.peers.clear()
        self.expires_at.clear()


class Scamp(Membership):
    name = "scamp"
    Parameters: ClassVar[type[Parameters]] = ScampParameters
    messages: ClassVar[tuple[type[Message], ...]] = (
        Subscription,
        ForwardedSubscription,
        Welcome,
        SubscriptionKept,
        ScampHeartbeat,
        Unsubscription,
    )

    def __init__(
        self, port: Port, setting: Setting, scope: str, population: Population, carrier: Carrier
    ) -> None:
        super().__init__(port, setting, scope, population, carrier)
        knobs: ScampParameters = self.parameters
        self._lease_ns = ns(knobs.lease_s)
        self._heartbeat_ns = ns(knobs.heartbeat_s)
        self._isolation_ns = ns(knobs.isolation_s)
        self._join_timeout_ns = ns(knobs.join_timeout_s)
        # Who has us in view says so with every heartbeat, or else once a lease.
        self._in_lease_ns = self._isolation_ns if self._heartbeat_ns else self._lease_ns
        self._max_forwards = knobs.max_forwards
        self._contacts: list[PeerId] = []
        self._view = Table(knobs.capacity)
        self._in_view = Table(knobs.capacity)
        self._epoch = 0
        self._joined = False
        self._ready = False
        self._began = False
        self._awaiting = False
        self._attempts = 0
        self._request = 0
        self._gained = 0
        self._copies = 0
        self._heard_at = 0
        self._expiry_set = False
        self._held: dict[PeerId, Subscription] = {}

    @property
    def members(self) -> Sequence[PeerId]:
        return self._view.peers

    @property
    def in_members(self) -> Sequence[PeerId]:
        """Those who have this peer in their views, as far as it knows."""
        return self._in_view.peers

    # Joining, and subscribing again

    def join(self) -> None:
        if self._joined:
            raise LocalError(f"joined {self.scope!r} twice without leaving it")
        # Drawn and not counted: the layer above may make a new membership for a scope that it left,
        # and the timers of the old one must mean nothing to it.
        self._epoch = int(self.port.rng.random() * (1 << 53))
        self._joined = True
        self.begin()

    def begin(self) -> None:
        """Subscribe, or be the first member."""
        self._contacts = self.look_up_contacts()
        if self._contacts:
            self._subscribe()
        else:
            self._become_ready()

    def _become_ready(self) -> None:
        self._ready = True
        self._began = False
        port = self.port
        self._heard_at = port.now
        if self._heartbeat_ns:
            # Anywhere in a period, so that those who started together do not beat together.
            first = int(port.rng.random() * self._heartbeat_ns)
            port.after(first, HeartbeatDue(self.scope, self._epoch))
        if self._lease_ns:
            self._set_renewal()
        self._answer_held()
        self.carrier.membership_ready()

    def _subscribe(self) -> None:
        # As many copies as views that took us in since the last time, so that each entry has one
        # successor. As many as the contact has entries, as at a join, would multiply the edges:
        # contacts are met the more often the more views they are in, and those have larger views
        # (300 members, c = 0, no indirection: from 6 entries each to 34 within 40 leases).
        # At most one fewer, though: some were lost on their way.
        wanted = max(self._gained, self._copies - 1, LEAST_COPIES)
        self._copies = min(wanted, self._view.capacity)
        self._gained = 0
        self._attempts = 0
        self._ask_somebody()

    def _ask_somebody(self) -> None:
        """The next in turn: a member first asks one it knows, a newcomer its contacts."""
        port, view = self.port, self._view.peers
        self._contacts = self.look_up_contacts() or self._contacts
        turns = list(self._contacts)
        self._in_view.expire(port.now)
        known = view or self._in_view.peers
        if known and not self._began:
            turns.insert(0 if self._ready else len(turns), choice(known, port.rng.random))
        self._awaiting = bool(turns)
        if not turns:
            return
        asked = turns[self._attempts % len(turns)]
        # A walk of many hops ends at the first crashed member, so later attempts go without.
        budget = 1.0 if self.parameters.indirection and self._attempts == 0 else 0.0
        self._attempts += 1
        self._request += 1
        # Through a stranger a member subscribes like a newcomer: its view may be all dead.
        copies = self._copies if self._ready and asked in view else 0
        port.send(asked, Subscription(self.scope, port.peer, copies, budget))
        port.after(self._join_timeout_ns, AnswerDue(self.scope, self._epoch, self._request))

    def look_up_contacts(self) -> list[PeerId]:
        """As they are now: a host may know who is up, and tell others each time."""
        return [p for p in self.setting.contacts.get(self.scope, ()) if p != self.port.peer]

    def _mend(self) -> None:
        """Who has nobody to send to subscribes again, as long as it knows whom to ask."""
        if self._ready and not self._view.peers and not self._awaiting:
            self._subscribe()

    def _answer_held(self) -> None:
        held, self._held = self._held, {}
        for request in held.values():
            self._act_as_contact(request.subscriber, request.copies)

    # Leaving

    def leave(self) -> None:
        if not self._joined:
            return
        port, view = self.port, self._view.peers
        self._in_view.expire(port.now)
        in_view = self._in_view.peers
        replaced = len(in_view) - (self.parameters.c + 1)
        turn = 0
        for position, peer in enumerate(in_view):
            replacement = None
            if position < replaced:
                # A peer cannot stand in for us in its own view: the next in the cycle does.
                others = [other for other in view if other != peer]
                if others:
                    replacement = others[turn % len(others)]
                    turn += 1
            port.send(peer, Unsubscription(self.scope, replacement))
        # The others have us in their in-views only.
        rest = [peer for peer in view if peer not in in_view]
        port.send_all(rest, Unsubscription(self.scope))
        self._view.clear()
        self._in_view.clear()
        self._held.clear()
        self._gained = self._copies = 0
        self._joined = self._ready = self._began = self._awaiting = self._expiry_set = False

    # Messages

    def on_message(self, sender: PeerId, message: ScopedMessage) -> None:
        if not self._joined:
            raise RemoteError(f"not a member of {self.scope!r}")
        # By far the most frequent, and so before all else.
        if type(message) is ForwardedSubscription:
            self._on_forwarded(sender, message)
            return
        if sender == self.port.peer:
            raise RemoteError("a message of ours came back as another's")
        if isinstance(message, ScampHeartbeat | SubscriptionKept):
            if isinstance(message, SubscriptionKept):
                self._gained += 1
                # As good as a welcome: the contact got a renewal and sent its copies.
                self._awaiting = self._awaiting and not self._ready
            self._note_in_view(sender)
            self._take_news(sender, message.news)
        elif isinstance(message, Subscription):
            self._on_subscription(sender, message)
        elif isinstance(message, Welcome):
            self._on_welcome(sender, message)
        elif isinstance(message, Unsubscription):
            self._on_unsubscription(sender, message)
        else:
            raise RemoteError(f"scamp takes no {type(message).__name__}")

    def _on_forwarded(self, sender: PeerId, message: ForwardedSubscription) -> None:
        port, peers, subscriber = self.port, self._view.peers, message.subscriber
        if subscriber in peers or subscriber == port.peer:
            self._on_forwarded_known(sender, message)
            return
        # One draw decides both: below 1, with probability 1 / (1 + |view|), it is kept; else its
        # whole part says who is next.
        draw = port.rng.random() * (len(peers) + 1)
        last = message.hops >= self._max_forwards
        if draw < 1 or last:
            # On the cap it is kept, not dropped: views of ln N need every copy to end in one.
            if self._keep(subscriber) or last:
                return
            draw = 1 + port.rng.random() * len(peers)
        port.send(
            peers[int(draw) - 1], ForwardedSubscription(self.scope, subscriber, message.hops + 1)
        )

    def _on_forwarded_known(self, sender: PeerId, message: ForwardedSubscription) -> None:
        """A copy that finds its subscriber here already, or is our own."""
        port, peers, subscriber = self.port, self._view.peers, message.subscriber
        last = message.hops >= self._max_forwards
        if subscriber != port.peer:
            if self._from_earlier_lease(subscriber) and (
                last or port.rng.random() * (len(peers) + 1) < 1
            ):
                self._keep(subscriber)
                return
            # A peer that restarted has forgotten who has it in view.
            port.send(subscriber, ScampHeartbeat(self.scope, self.carrier.outgoing_news()))
        if last:
            return
        others = [peer for peer in peers if peer != subscriber]
        onward = choice(others, port.rng.random) if others else sender
        if onward not in (subscriber, port.peer):
            port.send(onward, ForwardedSubscription(self.scope, subscriber, message.hops + 1))

    def _on_subscription(self, sender: PeerId, message: Subscription) -> None:
        port, subscriber = self.port, message.subscriber
        if subscriber == port.peer:
            if not message.budget:
                raise RemoteError("asked to act as the contact of ourselves")
            # Others have us in view, so our own walk can lead here.
            port.send(sender, message)
            return
        if not self._ready:
            # Newcomers that take in newcomers would make a group of their own.
            if len(self._held) < self._view.capacity:
                self._held[subscriber] = message
            return
        self._in_view.expire(port.now)
        neighbours = self._view.peers + self._in_view.peers
        if message.budget and neighbours:
            # Staying 1/degree at each makes all members equally likely to be the last.
            budget = message.budget - 1 / len(neighbours)
            if budget > 0:
                onward = Subscription(self.scope, subscriber, message.copies, budget)
                port.send(choice(neighbours, port.rng.random), onward)
                return
        self._act_as_contact(subscriber, message.copies)

    def _act_as_contact(self, subscriber: PeerId, copies: int) -> None:
        port, random, renewal = self.port, self.port.rng.random, copies > 0
        port.send(subscriber, Welcome(self.scope, renewal, self.carrier.outgoing_news()))
        current = self._current()
        others = [peer for peer in current if peer != subscriber]
        if others:
            wanted = min(copies, self._view.capacity) or len(current) + self.parameters.c
            first = others if wanted >= len(others) else sample(others, wanted, random)
            copy = ForwardedSubscription(self.scope, subscriber, 1)
            port.send_all(first, copy)
            for _ in range(wanted - len(first)):
                port.send(choice(others, random), copy)
        else:
            self._keep(subscriber)
        if not renewal:
            self._gained += 1
            self._note_in_view(subscriber)

    def _on_welcome(self, sender: PeerId, message: Welcome) -> None:
        if message.renewal:
            if not self._ready:
                raise RemoteError("welcomed back, where we only just ask to join")
        elif sender not in self._view.peers:
            self._put_in_view(sender)
        self._awaiting = False
        if not self._ready:
            self._become_ready()
        self._take_news(sender, message.news)

    def _on_unsubscription(self, sender: PeerId, message: Unsubscription) -> None:
        replacement = message.replacement
        if replacement == sender:
            raise RemoteError("a leaver named itself as its replacement")
        self._held.pop(sender, None)
        if self._in_view.remove(sender) and self._gained:
            self._gained -= 1
        if self._view.remove(sender):
            known = (self.port.peer, *self._view.peers)
            if replacement is not None and replacement not in known:
                self._keep(replacement)
            self._mend()

    def _take_news(self, sender: PeerId, news: bytes) -> None:
        if news:
            self.carrier.incoming_news(sender, news)

    # The two views

    def _current(self) -> list[PeerId]:
        """The view without those who have subscribed again since, and so are in other views too.

        Counted twice, they would make the views grow with every lease.
        """
        if not self._lease_ns:
            return self._view.peers
        left_at_renewal = self._lease_ns - self._renewal_ns
        return self._view.living_beyond(self.port.now + left_at_renewal) or self._view.peers

    def _keep(self, peer: PeerId) -> bool:
        """Have the peer in view and tell it; whether there was room."""
        kept = self._put_in_view(peer)
        if kept:
            self.port.send(peer, SubscriptionKept(self.scope, self.carrier.outgoing_news()))
        return kept

    def _put_in_view(self, peer: PeerId) -> bool:
        if not self._lease_ns:
            return self._view.keep(peer, NEVER)
        kept = self._view.keep(peer, self.port.now + self._lease_ns)
        if kept and not self._expiry_set:
            self._expiry_set = True
            self.port.after(self._lease_ns, ExpiryDue(self.scope, self._epoch))
        return kept

    def _from_earlier_lease(self, peer: PeerId) -> bool:
        """Whether an entry stems from an earlier subscription than one that arrives now."""
        if not self._lease_ns:
            return False
        expires_at = self._view.expires_at[self._view.peers.index(peer)]
        # Copies of one subscription settle well within half a lease; the next comes after it.
        return expires_at - self.port.now < self._lease_ns // 2

    def _note_in_view(self, peer: PeerId) -> None:
        now = self.port.now
        self._heard_at = now
        self._in_view.expire(now)
        self._in_view.keep(peer, now + self._in_lease_ns if self._in_lease_ns else NEVER)
        self._mend()

    # Timers

    def on_timer(self, timer: ScopedTimer) -> None:
        match timer:
            case AnswerDue(epoch=epoch, request=request):
                if epoch == self._epoch and request == self._request and self._awaiting:
                    self._on_answer_due()
            case HeartbeatDue(epoch=epoch):
                if epoch == self._epoch and self._ready:
                    self._on_heartbeat_due()
            case RenewalDue(epoch=epoch):
                if epoch == self._epoch and self._ready:
                    self._set_renewal()
                    if not self._awaiting:
                        self._subscribe()
            case ExpiryDue(epoch=epoch):
                if epoch == self._epoch and self._joined:
                    self._on_expiry_due()
            case _:
                raise AssertionError(f"scamp sets no {timer!r}")

    def _on_answer_due(self) -> None:
        if not self._ready and self._held and self._attempts >= 2 * len(self._contacts):
            # All were asked twice in vain: maybe they wait for each other, and somebody must begin.
            # It goes on asking its contacts, not those it took in, who know nobody else.
            self._began = True
            self._answer_held()
        self._ask_somebody()

    def _on_heartbeat_due(self) -> None:
        port = self.port
        port.after(self._heartbeat_ns, HeartbeatDue(self.scope, self._epoch))
        if self._view.peers:
            heartbeat = ScampHeartbeat(self.scope, self.carrier.outgoing_news())
            port.send_all(self._view.peers, heartbeat)
        if port.now - self._heard_at >= self._isolation_ns and not self._awaiting:
            self._heard_at = port.now
            self._subscribe()

    @property
    def _renewal_ns(self) -> int:
        return round(self._lease_ns * RENEWAL_AT)

    def _set_renewal(self) -> None:
        # Not jittered: contacts tell by an entry's age whether its peer has subscribed again.
        self.port.after(self._renewal_ns, RenewalDue(self.scope, self._epoch))

    def _on_expiry_due(self) -> None:
        port, view = self.port, self._view
        view.expire(port.now)
        self._expiry_set = bool(view.peers)
        if view.peers:
            port.after(min(view.expires_at) - port.now, ExpiryDue(self.scope, self._epoch))
        self._mend()


memberships.register(Scamp)
