"""The same epidemic push the way SimPy's own documentation builds networks: a process for each
node, a store for its inbox, and a process for each message on its way."""

import math
from collections.abc import Generator
from random import Random
from typing import Any

import simpy

LATENCY = 1.0


class Node:
    def __init__(self, env: simpy.Environment, number: int, nodes: list["Node"], rng: Random):
        self.env = env
        self.number = number
        self.nodes = nodes
        self.inbox = simpy.Store(env)
        self.seen: set[int] = set()
        fanout = math.floor(math.log(len(nodes)) + 5)
        self.table = rng.sample([other for other in range(len(nodes)) if other != number], fanout)
        self.rng = rng
        self.received = 0
        env.process(self.live())

    def live(self) -> Generator[Any, Any, None]:
        while True:
            event = yield self.inbox.get()
            self.received += 1
            self.spread(event)

    def spread(self, event: int) -> None:
        if event not in self.seen:
            self.seen.add(event)
            for peer in self.rng.sample(self.table, len(self.table)):
                self.env.process(self.send(self.nodes[peer], event))

    def send(self, to: "Node", event: int) -> Generator[Any, Any, None]:
        yield self.env.timeout(LATENCY)
        yield to.inbox.put(event)


def build(count: int) -> tuple[simpy.Environment, list[Node]]:
    env = simpy.Environment()
    rng = Random(1)
    nodes: list[Node] = [None] * count  # type: ignore[list-item]
    for number in range(count):
        nodes[number] = Node(env, number, nodes, rng)
    return env, nodes


def messages(env: simpy.Environment, nodes: list[Node], events: int) -> int:
    """Publish that many events, run until quiet, and say how many messages were received."""
    for event in range(events):
        nodes[event].spread(event)
        env.run()
    return sum(node.received for node in nodes)
