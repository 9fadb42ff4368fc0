"""Applications on a simulated network about soccer, and tests of them that are coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from agents.api import CommunityManager
from agents.core.messages import Event
from testbed.sim.local import SimulatedNetwork

ITALY = ".soccer.italy"


def run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @wraps(test)
    def runs(**arguments: Any) -> None:
        asyncio.run(test(**arguments))

    return runs


class Fan:
    """An application that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def __call__(self, event: Event) -> None:
        self.heard.append(event.data)


def soccer(protocol: str = "camcast", **options: Any) -> SimulatedNetwork:
    return SimulatedNetwork([ITALY, ".tennis"], protocol=protocol, **options)


async def often(network: SimulatedNetwork, manager: CommunityManager, topic: str) -> None:
    """Twenty events, for one alone may not get to the super-community: that is up to chance."""
    for _ in range(20):
        await manager.community(topic).publish(topic.encode())
        await network.run(seconds=2)


def members(network: SimulatedNetwork, topic: str) -> list[int]:
    return list(network.world.joined.get(topic, ()))
