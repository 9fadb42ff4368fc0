"""The LAN's wires: a Mininet of containers, bridges and cables, made by netlink in batches.

Mininet keeps the picture of the network, and what it would have a shell do for each node and link is
gathered and asked of the kernel at once:

    Container   a node: knows the network namespace of a process that somebody else started
    Bridge      a switch: knows its ports and what they lead to
    Cable       a link: a pair of interfaces, one end straight in the container's namespace
    Wiring      the network of them

All bridges of a LAN and the switches' ends of its cables live in one network namespace that is the
LAN's own. So no name can clash with a user's interface or another LAN's, no firewall of the machine
looks at the LAN's traffic, and no address or route of the machine is near it. When that namespace
ends, everything in it is gone, and so are the hosts' ends of the cables.
"""

import errno
import os
import time
import warnings
from collections.abc import Collection, Mapping
from typing import Any

from testbed.lan import link_requests as ask
from testbed.lan.namespaces import indexes_in, of_process, set_kernel_parameters
from testbed.lan.netlink import Kernel
from testbed.lan.plan import HOST_INTERFACE, NETWORK, HostPlan, Plan

with warnings.catch_warnings():
    # Mininet's release compares versions with the standard library's old module for that.
    warnings.simplefilter("ignore", DeprecationWarning)
    from mininet.link import Intf, Link
    from mininet.net import Mininet
    from mininet.node import Node
    from mininet.nodelib import LinuxBridge
    from mininet.topo import Topo

# All that is left to do there is to raise limits of the whole machine, for good.
Mininet.inited = True

PATIENCE_S = 20
"""Ours: links come up within milliseconds, on a busy machine within a second."""

SWITCHES_PARAMETERS = {
    "ipv6/conf/all/disable_ipv6": 1,
    "ipv6/conf/default/disable_ipv6": 1,
    # Frames are the switch's business alone.
    "bridge/bridge-nf-call-iptables": 0,
    "bridge/bridge-nf-call-ip6tables": 0,
    "bridge/bridge-nf-call-arptables": 0,
}
HOST_PARAMETERS = {
    "ipv6/conf/all/disable_ipv6": 1,
    "ipv6/conf/default/disable_ipv6": 1,
    # What a host sends to itself comes back to it from the switch.
    "ipv4/conf/all/accept_local": 1,
    "ipv4/conf/all/rp_filter": 0,
    "ipv4/conf/default/rp_filter": 0,
    # A loss takes the first fragment of a message, and the others wait for it in vain: not for long,
    # and with room for what a link of 100 Mb/s can bring meanwhile.
    "ipv4/ipfrag_time": 1,
    "ipv4/ipfrag_high_thresh": 1 << 24,
}


class PlannedTopo(Topo):
    """Some hosts of a plan, their switches, and the links between all of them."""

    def build(self, plan: Plan, pids: Mapping[int, int], bridges: Collection[str]) -> None:
        for switch in plan.switches:
            if switch.bridge in bridges:
                self.addSwitch(switch.bridge, plan=plan, dpid=switch.bridge[1:], inNamespace=True)
        for switch in plan.switches:
            if switch.bridge in bridges and switch.above in bridges:
                ends = {"intfName1": switch.up_port, "intfName2": switch.down_port}
                self.addLink(switch.bridge, switch.above, **ends)
        for number, pid in pids.items():
            host = plan.host(number)
            # By the port's name: a user may have called a host as we call a switch.
            self.addHost(host.port, plan=plan, host=host, pid=pid)
            ends = {"intfName1": host.port, "intfName2": HOST_INTERFACE}
            self.addLink(host.switch, host.port, **ends)


class Interface(Intf):
    """One end of a cable. What it is to be is known when it is made."""

    def config(self, **_params: Any) -> dict[str, Any]:
        return {}


class Container(Node):
    """A host whose processes somebody else runs."""

    def __init__(self, name: str, *, plan: Plan, host: HostPlan, pid: int, **params: Any) -> None:
        self.plan = plan
        self.host = host
        self._container = pid
        self.namespace = -1
        super().__init__(name, **params)

    @classmethod
    def setup(cls) -> None:
        """No program is needed."""

    def startShell(self, mnopts: str | None = None) -> None:
        """There is none: its first process is the container's."""
        self.pid = self._container

    def config(self, **_params: Any) -> dict[str, Any]:
        """Done for all at once, when they are connected."""
        return {}

    def open(self) -> None:
        self.namespace = os.open(of_process(self.pid), os.O_RDONLY | os.O_CLOEXEC)
        set_kernel_parameters(self.namespace, HOST_PARAMETERS)

    def close(self) -> None:
        if self.namespace >= 0:
            os.close(self.namespace)

    def cable_end(self, _name: str) -> ask.Attributes:
        return ask.towards_host(self.namespace, self.host.mac)

    def connect(self) -> None:
        """Give the interface its addresses, and tell who else is on the LAN."""
        interface = indexes_in(self.namespace)[HOST_INTERFACE]
        with Kernel(self.namespace) as kernel:
            kernel.do(
                f"giving {self.host.name} its addresses",
                [
                    ask.bring_up(ask.LOOPBACK),
                    ask.bring_up(interface),
                    *(ask.address(interface, address) for address in self.host.addresses),
                    *(
                        ask.neighbour(interface, address, other.mac)
                        for other in self.plan.hosts
                        for address in other.addresses
                    ),
                ],
            )
            kernel.do(
                f"leading what {self.host.name} sends to itself over the LAN",
                ask.always_over_the_wire(),
                unless=(errno.EEXIST, errno.ENOENT),  # if it was connected before
            )

    def wait(self) -> None:
        """Until messages pass its interface."""
        with Kernel(self.namespace) as kernel:
            _wait_until_ready(kernel, [HOST_INTERFACE])


class Bridge(LinuxBridge):
    """A switch in the LAN's own namespace, together with all others."""

    def __init__(self, name: str, *, plan: Plan, **params: Any) -> None:
        self.plan = plan
        self.wiring: Wiring
        super().__init__(name, **params)

    @classmethod
    def setup(cls) -> None:
        """No program is needed."""

    def startShell(self, mnopts: str | None = None) -> None:
        """There is none: a bridge is the kernel's, and no process is in it."""

    @property
    def ports_used(self) -> list[str]:
        return [interface.name for interface in self.intfList()]

    def cable_end(self, name: str) -> ask.Attributes:
        return ask.towards_switch(name)

    def start(self, _controllers: object) -> None:
        """Plug the cables in, and say what is reached through which."""
        index = self.wiring.indexes
        ports = self.ports_used
        hosts = {host.port for host in self.plan.hosts}
        self.wiring.later += [
            *(ask.plug_in(index[port], index[self.name]) for port in ports),
            *(ask.forward_as_told(index[port], back_too=port in hosts) for port in ports),
            *(
                ask.forward(mac, index[port])
                for mac, port in self.plan.forwarding(self.name)
                if port in self.nameToIntf
            ),
        ]


class Cable(Link):
    """Gathers what will make it."""

    @classmethod
    def makeIntfPair(
        cls,
        intfname1: str,
        intfname2: str,
        addr1: str | None = None,
        addr2: str | None = None,
        node1: Bridge | None = None,
        node2: Container | Bridge | None = None,
        deleteIntfs: bool = True,
    ) -> None:
        """The first end is at a switch, the second at a host or at the switch above."""
        assert node1 is not None
        assert node2 is not None
        node1.wiring.later.append(ask.new_cable(intfname1, node2.cable_end(intfname2)))


class Wiring(Mininet):
    """A network of containers and bridges. `with` keeps the namespaces open that it wires."""

    def __init__(self, plan: Plan, pids: Mapping[int, int], bridges: Collection[str]) -> None:
        self.later: list[bytes] = []
        self.indexes: dict[str, int] = {}
        super().__init__(
            topo=PlannedTopo(plan=plan, pids=pids, bridges=bridges),
            switch=Bridge,
            host=Container,
            link=Cable,
            intf=Interface,
            controller=None,
            ipBase=str(NETWORK),
            build=False,
        )

    def addHost(self, name: str, cls: type[Container] | None = None, **params: Any) -> Container:
        host: Container = super().addHost(name, cls, **params)
        host.open()
        return host

    def addSwitch(self, name: str, cls: type[Bridge] | None = None, **params: Any) -> Bridge:
        bridge: Bridge = super().addSwitch(name, cls, **params)
        bridge.wiring = self
        self.later.append(ask.bridge(name))
        return bridge

    def make(self, namespace: int) -> None:
        """All of it, with the switches in this namespace."""
        try:
            self.build()
            with Kernel(namespace) as kernel:
                self._do(kernel, "making bridges and cables")
                self.indexes = indexes_in(namespace)
                self.start()
                self._do(kernel, "plugging cables in")
                for host in self.hosts:
                    host.connect()
                ports = [port for switch in self.switches for port in switch.ports_used]
                _wait_until_ready(kernel, ports)
                for host in self.hosts:
                    host.wait()
        finally:
            for host in self.hosts:
                host.close()

    def _do(self, kernel: Kernel, what: str) -> None:
        kernel.do(what, self.later)
        self.later = []


def _wait_until_ready(kernel: Kernel, interfaces: Collection[str]) -> None:
    """Until messages pass all of these, which the kernel sees to in its own time."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        links = dict(ask.readiness(link) for _kind, link in kernel.dump(ask.all_links()))
        waiting = [name for name in interfaces if not links.get(name)]
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise OSError(errno.ETIMEDOUT, f"interface {waiting[0]} does not come up")
        time.sleep(0.002)


def prepare_switches(namespace: int) -> None:
    """Make a new namespace one for switches."""
    set_kernel_parameters(namespace, SWITCHES_PARAMETERS)


def wire(plan: Plan, pids: Mapping[int, int], namespace: int) -> None:
    """All of the LAN, in a namespace that is empty. `pids` are processes in the hosts' namespaces,
    by the hosts' numbers."""
    Wiring(plan, pids, [switch.bridge for switch in plan.switches]).make(namespace)


def wire_again(plan: Plan, host: int, pid: int, namespace: int) -> None:
    """One host that has a new namespace, with the same port and addresses as before."""
    planned = plan.host(host)
    with Kernel(namespace) as kernel:
        # The old cable goes with the old namespace, but not necessarily at once.
        kernel.do(
            f"unplugging {planned.name}", [ask.delete_link(planned.port)], unless=(errno.ENODEV,)
        )
    Wiring(plan, {host: pid}, [planned.switch]).make(namespace)


def unwire(namespace: int) -> None:
    """Delete all bridges and cables; the hosts' ends of cables go with them."""
    with Kernel(namespace) as kernel:
        kernel.do("deleting bridges and cables", [ask.delete_all_links()], unless=(errno.ENODEV,))
