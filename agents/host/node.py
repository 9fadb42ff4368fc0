"""An agent on the network as an application's node: `CommunityManager(await AgentNode.connect(…))`.

The application and the agent are processes of the same machine, or share its folder: they talk over
the agent's control socket. The agent must have been started.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agents.core.errors import LocalError
from agents.core.messages import Event
from agents.host.control import ControlClient

JOIN_AT_MOST_S = 600.0
"""Ours, as in the simulator: whoever has not joined by then never will."""


class AgentNode:
    """One agent, as an application sees it."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client
        self._joined: set[str] = set()
        self._changed = asyncio.Event()
        self._entered: set[str] = set()
        self._lost = False
        self._on_event: Callable[[str, Event], None] | None = None

    @classmethod
    async def connect(cls, socket: Path) -> AgentNode:
        """Over that control socket."""
        client = await ControlClient.connect(socket)
        node = cls(client)
        try:
            found = await client.listen(node._on_notice, node._on_lost)
        except BaseException:
            await client.close()
            raise
        node._joined.update(found["joined"])
        return node

    async def join(self, topic: str) -> None:
        await self._client.ask("subscribe", topics=[topic])
        self._entered.add(topic)
        await self._wait_for(topic)

    async def leave(self, topic: str) -> None:
        if topic in self._entered:
            self._entered.remove(topic)
            await self._client.ask("unsubscribe", topics=[topic])

    async def publish(self, topic: str, data: bytes, psel: float | None) -> Event:
        text = b64encode(data).decode()
        found = await self._client.ask("publish", topic=topic, data=text, psel=psel)
        self._entered.add(topic)
        await self._wait_for(topic)
        return Event(found["event"], topic, data, None, psel)

    def listen(self, on_event: Callable[[str, Event], None]) -> None:
        self._on_event = on_event

    async def close(self) -> None:
        """Leave everything and stop the agent, if it is still there."""
        try:
            if not self._lost:
                await self._client.ask("stop")
        finally:
            await self._client.close()

    async def _wait_for(self, topic: str) -> None:
        try:
            async with asyncio.timeout(JOIN_AT_MOST_S):
                while not self._joined & {topic, ""}:
                    if self._lost:
                        raise LocalError(f"the agent at {self._client.path} is gone")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise LocalError(
                f"the community of {topic!r} could not be joined within {JOIN_AT_MOST_S:g} s"
            ) from None

    def _on_notice(self, notice: Mapping[str, Any]) -> None:
        match notice:
            case {"joined": community}:
                self._joined.add(community)
                self._changed.set()
            case {"left": community}:
                self._joined.discard(community)
            case {"delivered": found} if self._on_event is not None:
                event = Event(
                    found["event"],
                    found["topic"],
                    b64decode(found["data"]),
                    None,
                    found["psel"],
                )
                for topic in found["communities"]:
                    self._on_event(topic, event)

    def _on_lost(self) -> None:
        self._lost = True
        self._changed.set()
