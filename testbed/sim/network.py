"""The network between simulated peers: how long a message takes, and what keeps it from arriving.

A group is a set of agents that are treated alike, here those of the same topics.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random

from agents.core.journal import Cause
from agents.core.messages import PeerId
from testbed.model.distributions import Distribution, Fixed, drawing

_WORD = (1 << 64) - 1


def latency_in_ticks(latency: Distribution, tick_ns: int, rng: Random) -> Callable[[], int]:
    """A function that draws the next delay: whole ticks, at least one."""
    draw = drawing(latency, rng.random)
    return lambda: max(1, round(draw() / tick_ns))


class Network:
    """Knows the delay of the next message and whether it gets through."""

    __slots__ = (
        "_losses",
        "_sides",
        "_suspected_below",
        "_suspicion_salt",
        "fixed_delay",
        "group_of",
        "latency",
        "loss",
        "plain",
        "random",
    )

    def __init__(
        self,
        *,
        latency: Distribution,
        tick_ns: int,
        rng: Random,
        loss: float = 0.0,
        losses: Mapping[tuple[int, int], float] | None = None,
        group_of: Sequence[int] = (),
    ) -> None:
        self.latency = latency_in_ticks(latency, tick_ns, rng)
        self.fixed_delay = self.latency() if isinstance(latency, Fixed) else 0
        self.loss = loss
        self.group_of = group_of
        self._losses = dict(losses or {})
        self.random = rng.random
        self._sides: Mapping[int, int] = {}
        self._suspected_below = 0
        self._suspicion_salt = int(rng.random() * (1 << 53))
        self._settle()

    def set_loss(self, loss: float, groups: tuple[int, int] | None = None) -> None:
        """From now on, for everybody or for messages from one group to another."""
        if groups is None:
            self.loss = loss
        else:
            self._losses[groups] = loss
        self._settle()

    def partition(self, sides: Mapping[int, int]) -> None:
        """Cut groups on different sides off from each other; a group on no side reaches all."""
        self._sides = sides
        self._settle()

    def heal(self) -> None:
        self.partition({})

    def suspect(self, probability: float) -> None:
        """Weakly consistent failures (CAMCAST 6.1.2): "a process can appear to be crashed for a
        process while appearing alive for another one", for each pair for good."""
        self._suspected_below = round(probability * (1 << 64))
        self._settle()

    def obstacle(self, sender: PeerId, to: PeerId) -> Cause:
        """Why this message will not arrive; empty if it will."""
        if self._sides:
            here, there = self._side(sender), self._side(to)
            if here is not None and there is not None and here != there:
                return "partition"
        if self._suspected_below and self._suspects(sender, to):
            return "suspected"
        loss = self.loss
        if self._losses:
            loss = self._losses.get((self.group_of[sender], self.group_of[to]), loss)
        if loss and self.random() < loss:
            return "loss"
        return ""

    def _settle(self) -> None:
        """Note whether the short way of sending does: one delay and one loss for all."""
        self.plain = bool(
            self.fixed_delay and not self._losses and not self._sides and not self._suspected_below
        )

    def _side(self, peer: PeerId) -> int | None:
        return self._sides.get(self.group_of[peer])

    def _suspects(self, sender: PeerId, to: PeerId) -> bool:
        mixed = (
            self._suspicion_salt + sender * 0x9E3779B97F4A7C15 + to * 0xC2B2AE3D27D4EB4F
        ) & _WORD
        for _ in range(2):
            mixed = ((mixed ^ (mixed >> 31)) * 0xD6E8FEB86659FD93) & _WORD
        return (mixed ^ (mixed >> 32)) < self._suspected_below
