"""The plan of a LAN: which interface, address and switch port everything has. Pure.

Addresses are from 198.18.0.0/15, which is reserved for benchmarks (RFC 2544). Every agent has one
of its own, be it that two agents share a machine: so the network can tell them apart whatever the
transport, and a loss or a partition between communities concerns exactly their members. Host 17 has
198.18.17.1 for its first agent, 198.18.17.2 for the second, and so on.

The switches and their ports live in a network namespace of the LAN's own, so their names need to be
unique only there: `h17` is the port of host 17, `s2` the second switch, `s2-up` its port to the
switch above it, and `s1-s2` the port at the other end.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network

from agents.core.errors import LocalError
from testbed.model.lan_parts import Link
from testbed.model.topology import Topology

NETWORK = IPv4Network("198.18.0.0/15")
FIRST_PORT = 9000
"""The agent in slot s of its machine listens on this port plus s."""
HOST_INTERFACE = "eth0"

Place = tuple[int, int]
"""A host's number and a slot of it: where an agent is."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """A machine, its interface, and the port that it is plugged into."""

    number: int
    name: str
    switch: str
    port: str
    """The name of the interface at the switch's end."""
    mac: str
    addresses: tuple[str, ...]
    """By slot."""
    link: Link


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """A switch, and how it is connected to the one above it, if there is one."""

    name: str
    """As the topology calls it."""
    bridge: str
    above: str | None
    """The bridge above it."""
    up_port: str | None
    """The interface on this switch that leads to the one above."""
    down_port: str | None
    """The interface on the switch above that leads to this one."""
    link: Link


@dataclass(frozen=True)
class Plan:
    """All of a LAN's network, before any of it is made."""

    name: str
    switches: tuple[SwitchPlan, ...]
    hosts: tuple[HostPlan, ...]

    def host(self, number: int) -> HostPlan:
        if not 1 <= number <= len(self.hosts):
            raise LocalError(
                f"there is no host {number} on LAN {self.name}, which has hosts 1 to "
                f"{len(self.hosts)}"
            )
        return self.hosts[number - 1]

    def address(self, host: int, slot: int = 0) -> str:
        """Of the agent in that slot of that host."""
        return self.host(host).addresses[slot]

    def endpoint(self, host: int, slot: int) -> tuple[str, int]:
        """Where that agent listens."""
        return self.address(host, slot), FIRST_PORT + slot

    @cached_property
    def places(self) -> dict[str, Place]:
        """Who has which address."""
        return {
            address: (host.number, slot)
            for host in self.hosts
            for slot, address in enumerate(host.addresses)
        }

    def forwarding(self, bridge: str) -> Iterator[tuple[str, str]]:
        """For every host on the LAN its MAC address, and the port of this switch that leads there."""
        for host in self.hosts:
            port = self._port_towards(bridge, host)
            if port is not None:
                yield host.mac, port

    def uplinks_between(self, sender: int, receiver: int) -> list[Link]:
        """The links between switches that a message takes from one host to the other."""
        up = self._to_the_top(self.host(sender).switch)
        down = self._to_the_top(self.host(receiver).switch)
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        return [self._by_bridge[bridge].link for bridge in (*up, *reversed(down))]

    @cached_property
    def _by_bridge(self) -> dict[str, SwitchPlan]:
        return {switch.bridge: switch for switch in self.switches}

    def _to_the_top(self, bridge: str) -> list[str]:
        """This switch and those above it, the topmost left out: it has no link upwards."""
        found = []
        switch = self._by_bridge[bridge]
        while switch.above is not None:
            found.append(switch.bridge)
            switch = self._by_bridge[switch.above]
        return found

    def _port_towards(self, bridge: str, host: HostPlan) -> str | None:
        below = self._by_bridge[host.switch]
        if below.bridge == bridge:
            return host.port
        while below.above is not None:
            if below.above == bridge:
                return below.down_port
            below = self._by_bridge[below.above]
        return self._by_bridge[bridge].up_port


def make_plan(topology: Topology, name: str) -> Plan:
    """The plan of this topology as a LAN called `name`: the same for the same topology."""
    bridges = {switch: f"s{number}" for number, switch in enumerate(topology.switches, start=1)}
    switches = []
    for switch, details in topology.switches.items():
        bridge = bridges[switch]
        above = None if details.uplink is None else bridges[details.uplink]
        switches.append(
            SwitchPlan(
                name=switch,
                bridge=bridge,
                above=above,
                up_port=above and f"{bridge}-up",
                down_port=above and f"{above}-{bridge}",
                link=details.link,
            )
        )
    hosts = topology.host_list()
    stride = _stride(len(hosts), max((host.slots for host in hosts), default=1))
    return Plan(
        name=name,
        switches=tuple(switches),
        hosts=tuple(
            HostPlan(
                number=host.number,
                name=host.name,
                switch=bridges[host.switch],
                port=f"h{host.number}",
                mac=_mac(host.number),
                addresses=tuple(
                    _address(host.number * stride + slot) for slot in range(host.slots)
                ),
                link=host.link,
            )
            for host in hosts
        ),
    )


def _stride(hosts: int, slots: int) -> int:
    """How far the addresses of two hosts are apart: 256 where that fits, for the reader's sake."""
    fits = NETWORK.num_addresses // (hosts + 1)
    if slots < 255 and fits >= 256:
        return 256
    if slots > fits:
        raise LocalError(
            f"{hosts} hosts of up to {slots} agents need more addresses than {NETWORK} has: "
            "take fewer hosts, or fewer agents a host"
        )
    return fits


def _address(number: int) -> str:
    return str(IPv4Address(int(NETWORK.network_address) + number + 1))


def _mac(number: int) -> str:
    """Locally administered, and easy to recognize."""
    octets = (0x02, 0x54, 0x42, number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF)
    return ":".join(f"{octet:02x}" for octet in octets)
