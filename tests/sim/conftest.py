"""A world that is running."""

from __future__ import annotations

import pytest

from testbed.sim.world import World
from tests.support.world import make, protocol


@pytest.fixture
def world() -> World:
    """Three peers that are up; the calls of their start are forgotten."""
    world = make()
    for peer in range(3):
        world.start(peer)
        protocol(world, peer).calls.clear()
    return world
