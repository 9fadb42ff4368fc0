"""The application's side: communities to subscribe and publish to (CAMCAST 5.1).

    async with CommunityManager(node) as manager:
        italy = manager.community(".soccer.italy")
        async with italy.subscribe(on_event):
            await italy.publish(b"Forza Azzurri")

A manager is one process's. What it stands on is a `Node`: a peer of the simulator, or an agent on
the network. Waiting means waiting for that node: for virtual time there, for real time here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import TracebackType
from typing import Protocol, Self

from agents.core.errors import LocalError
from agents.core.messages import Event

OnEvent = Callable[[Event], object]


class Node(Protocol):
    """One process in the system, as this module needs it."""

    async def join(self, topic: str) -> None:
        """Return when the process takes part in the topic's community."""

    async def leave(self, topic: str) -> None:
        """Return when the process has said good-bye to the community, if it took part in it."""

    async def publish(self, topic: str, data: bytes, psel: float | None) -> Event:
        """Return when the event is on its way, joining the community first if need be."""

    def listen(self, on_event: Callable[[str, Event], None]) -> None:
        """Call that with the community's topic and the event, for every delivery."""

    async def close(self) -> None:
        """Leave everything and stop."""


class CommunityManager:
    """Gives out communities, one object for each topic. Leaves them all when it is closed."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._communities: dict[str, Community] = {}
        self._closed = False
        node.listen(self._dispatch)

    def community(self, topic: str) -> Community:
        """The community of that topic, which this process may not yet take part in."""
        self.require_open()
        if topic not in self._communities:
            self._communities[topic] = Community(topic, self)
        return self._communities[topic]

    @property
    def node(self) -> Node:
        return self._node

    @property
    def closed(self) -> bool:
        return self._closed

    def require_open(self) -> None:
        if self._closed:
            raise LocalError("this community manager is closed")

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._node.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _dispatch(self, topic: str, event: Event) -> None:
        if topic in self._communities:
            self._communities[topic].on_deliver(event)


class Community:
    """The processes interested in one topic, and this process's part in it."""

    def __init__(self, topic: str, manager: CommunityManager) -> None:
        self.topic = topic
        self._manager = manager
        self._subscriptions: list[Subscription] = []
        self._publishing = False

    def subscribe(self, on_event: OnEvent) -> Subscription:
        """Have `on_event` called for each event of this topic and of those below it.

        Await it to be in the community when it returns, or use it with `async with` to be out of it
        again behind the block.
        """
        return Subscription(self, on_event)

    async def unsubscribe(self, subscription: Subscription) -> None:
        """No more calls from now on; leaves the community if nothing else keeps us in it."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            await self._leave_if_unused()

    async def publish(self, data: bytes, *, psel: float | None = None) -> Event:
        """Publish an event. The first time, this joins the community before it returns.

        `psel` is this event's own probability of being passed on to the super-community.
        """
        self._manager.require_open()
        published_before, self._publishing = self._publishing, True
        try:
            return await self._manager.node.publish(self.topic, data, psel)
        except BaseException:
            if not published_before:
                await self.stop_publishing()
            raise

    async def stop_publishing(self) -> None:
        """Leave the community unless it is subscribed to."""
        if self._publishing:
            self._publishing = False
            await self._leave_if_unused()

    def on_deliver(self, event: Event) -> None:
        for subscription in list(self._subscriptions):
            if subscription in self._subscriptions:  # none before it in the list ended it
                subscription.on_event(event)

    async def _enter(self, subscription: Subscription) -> None:
        self._manager.require_open()
        if subscription not in self._subscriptions:
            self._subscriptions.append(subscription)
            try:
                await self._manager.node.join(self.topic)
            except BaseException:
                await self.unsubscribe(subscription)
                raise

    async def _leave_if_unused(self) -> None:
        used = self._subscriptions or self._publishing
        if not used and not self._manager.closed:  # closing left everything
            await self._manager.node.leave(self.topic)


class Subscription:
    """A callback in a community. Awaiting it again does nothing."""

    def __init__(self, community: Community, on_event: OnEvent) -> None:
        self.community = community
        self.on_event = on_event

    def __await__(self) -> Generator[object, None, Subscription]:
        return self._enter().__await__()

    async def cancel(self) -> None:
        await self.community.unsubscribe(self)

    async def __aenter__(self) -> Subscription:
        return await self._enter()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.cancel()

    async def _enter(self) -> Subscription:
        await self.community._enter(self)
        return self
