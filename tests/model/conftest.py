"""A file that uses everything, and a protocol of the user's own."""

from pathlib import Path

import pytest

FULL = """\
name: uses-everything
title: Every field of the format, once
engine: sim
protocol: {name: camcast, c: 5}
membership: {name: scamp}
root: .a
topics:
  .a.d: {parents: [.a.x], parameters: {c: 3}}
communities: {.a: 10, .a.d: 100, .a.d.g: 1000, .a.x: 0}
agents:
  - {topics: [.a.d, .a.x], count: 5}
network:
  latency: {uniform: [20ms, 70ms]}
  loss: 0.15
  losses:
    - {from: .a.d, to: .a, loss: 0.3}
  tick: 500us
bootstrap:
  contacts: 2
  gateways: 3
  super_contacts: 1
  neighbourhood: 4
  spacing: 10ms
workload:
  - {topic: .a.d.g, at: 1s, count: 4, every: 2s, publisher: 7, bytes: 128, psel: 0.1}
  - {topic: .a.d}
faults:
  - {kind: stillborn, fraction: $crashed, communities: [.a.d]}
  - {kind: weakly-consistent, fraction: 0.3}
  - {kind: crash, at: 2s, count: 3, communities: [.a], for: 5s}
  - {kind: crash, at: 2s, agents: [0, 1114]}
  - {kind: restart, at: 9s}
  - {kind: partition, at: 1s, until: 5s, groups: [[.a, .a.d], [.a.d.g]]}
  - {kind: loss, at: 3s, loss: 0.5, from: .a, to: .a.d}
  - {kind: configure, at: 3s, topic: .a.d, parameters: {c: 7}}
  - {kind: churn, from: 1s, until: 20s, on: {exponential: 100s}, off: {list: [1s, 2s]}}
duration: 30s
repetitions: 100
seed: 5
journal: counts
expect:
  - {metric: reception, community: .a.d, at_least: 0.9}
  - {metric: parasites, equals: 0, within: 0.5, where: {crashed: 0.1}}
sweep:
  crashed: [0, 0.1, 0.2]
"""

FULL_LAN = """\
name: uses-everything-of-the-lan
engine: lan
protocol: {name: gossip-multicast, c: 5}
topology:
  name: own
  root: .a
  switches: {core: {}, edge: {uplink: core, link: {rate: 1gbit, delay: 5ms, jitter: 1ms}}}
  hosts:
    - {name: pc, count: 4, switch: edge, agents: 3, link: {rate: 100mbit, loss: 0.01}}
    - {name: server, switch: core, link: {delay: 2ms, reorder: 0.1, duplicate: 0.1, corrupt: 0.1}}
  communities: {.a: 4, .a.d: 8}
  gateways: 1
transport: tcp
network: {loss: $loss}
workload: [{topic: .a.d, at: 1s}]
faults:
  - {kind: freeze, at: 1s, for: 2s, fraction: 0.5, communities: [.a]}
  - {kind: crash-host, at: 2s, for: 3s, count: 1}
  - {kind: crash-host, at: 9s, hosts: [pc2, server]}
  - {kind: link, at: 3s, groups: [pc], rate: 10mbit, loss: 0.1}
  - {kind: link, at: 4s, hosts: [server], rate: unlimited, delay: 4ms, jitter: 1ms}
warm_up: 5s
duration: 30s
sweep: {loss: [0, 0.15]}
"""

OWN_PROTOCOL = """\
from typing import Annotated, Literal
from msgspec import Meta
from agents.core.protocol import Parameters, Protocol

class MineParameters(Parameters, frozen=True):
    low: Annotated[int, Meta(ge=0)] = 1
    high: int = 2
    mode: Literal["push", "pull"] = "push"
    eager: bool = False
    name_of: Annotated[str, Meta(min_length=2)] = "ab"
    steps: tuple[int, ...] = ()

    def __post_init__(self):
        if self.low > self.high:
            raise ValueError(f"low is {self.low}, above high, which is {self.high}")

class Mine(Protocol):
    name = "mine"
    Parameters = MineParameters
    messages = ()

    def configure(self, topic, changes): ...

class Needy(Mine):
    name = "needy"
    memberships = frozenset({"scamp", "pgrid"})

class RequiredParameters(Parameters, frozen=True):
    fanout: int

class Required(Mine):
    name = "required"
    Parameters = RequiredParameters

class Odd(Mine):
    name = "odd"
    Parameters = dict

class FragileParameters(Parameters, frozen=True):
    x: int = 1

    def __post_init__(self):
        1 / self.x

class Fragile(Mine):
    name = "fragile"
    Parameters = FragileParameters

class NoProtocol:
    pass
"""


@pytest.fixture(scope="session")
def full() -> str:
    return FULL


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a user's own protocols in `mine.py`, and one that cannot be imported."""
    (tmp_path / "mine.py").write_text(OWN_PROTOCOL)
    (tmp_path / "torn.py").write_text("def (")
    return tmp_path
