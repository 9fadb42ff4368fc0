"""What is asked of the kernel to wire a LAN: bridges, cables, addresses, neighbours. Pure."""

import socket
from functools import cache

from pyroute2.netlink.rtnl import (
    RTM_DELLINK,
    RTM_DELRULE,
    RTM_GETLINK,
    RTM_NEWADDR,
    RTM_NEWLINK,
    RTM_NEWNEIGH,
    RTM_NEWRULE,
)
from pyroute2.netlink.rtnl.fibmsg import fibmsg
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.ndmsg import ndmsg

from testbed.lan.netlink import (
    CREATE,
    EXCLUSIVE,
    REPLACE,
    Attributes,
    attribute,
    encode,
    for_interface,
)
from testbed.lan.plan import HOST_INTERFACE, NETWORK

GROUP = 1
"""All interfaces of a LAN that we make in its own namespace are in this group, to be deleted at
once: the kernel then waits for its readers once, and not once for each."""
LOOPBACK = 1
UP = {"flags": 1, "change": 1}

MTU = 1500
ONE_FRAME_EACH = ("IFLA_GSO_MAX_SEGS", 1)
"""No packet crosses the LAN that stands for several frames of Ethernet. Else TCP would hand over up
to 64 KiB at a time, and a loss would take all of it."""

NUD_NOARP = 0x40
NUD_PERMANENT = 0x80
NTF_MASTER = 0x04

IFLA_IFNAME = 3
IFLA_OPERSTATE = 16
IFLA_LINKINFO = 18
IFLA_INFO_SLAVE_DATA = 5
IFLA_BRPORT_STATE = 1

TABLE_MAIN = 254
TABLE_LOCAL = 255
ACTION_TO_TABLE = 1


def bridge(name: str) -> bytes:
    """A switch that forwards at once, without a spanning tree. One that is there stays."""
    details = [
        ("IFLA_BR_STP_STATE", 0),
        ("IFLA_BR_FORWARD_DELAY", 0),
        ("IFLA_BR_MCAST_SNOOPING", 0),
    ]
    return encode(
        ifinfmsg,
        RTM_NEWLINK,
        CREATE,
        UP,
        [
            ("IFLA_IFNAME", name),
            ("IFLA_MTU", MTU),
            ("IFLA_GROUP", GROUP),
            (
                "IFLA_LINKINFO",
                {"attrs": [("IFLA_INFO_KIND", "bridge"), ("IFLA_INFO_DATA", {"attrs": details})]},
            ),
        ],
    )


def new_cable(port: str, peer: Attributes) -> bytes:
    """A pair of interfaces: one here, in the switches' namespace, one as the attributes say."""
    # It cannot be up yet: the kernel makes it first, and only then the one that it leads to.
    end = {"attrs": [("IFLA_MTU", MTU), ONE_FRAME_EACH, *peer]}
    pair = {"attrs": [("VETH_INFO_PEER", end)]}
    return _new_link(
        [
            ("IFLA_IFNAME", port),
            ("IFLA_MTU", MTU),
            ("IFLA_GROUP", GROUP),
            ONE_FRAME_EACH,
            (
                "IFLA_LINKINFO",
                {"attrs": [("IFLA_INFO_KIND", "veth"), ("IFLA_INFO_DATA", pair)]},
            ),
        ]
    )


def towards_host(namespace: int, mac: str) -> Attributes:
    """The end of a cable that is a host's interface, straight in the host's namespace."""
    return [
        ("IFLA_IFNAME", HOST_INTERFACE),
        ("IFLA_ADDRESS", mac),
        ("IFLA_NET_NS_FD", namespace),
    ]


def towards_switch(port: str) -> Attributes:
    """The end of a cable that is a port of another switch."""
    return [("IFLA_IFNAME", port), ("IFLA_GROUP", GROUP)]


def plug_in(port: int, bridge: int) -> bytes:
    return _set_link(port, [("IFLA_MASTER", bridge)])


def forward_as_told(port: int, *, back_too: bool) -> bytes:
    """Neither learn from what comes in nor flood what is for nobody known. A flooded message would
    cross the switch in as many copies as there are ports, and each would draw its own loss.

    A host's port sends back what is for the host itself (`back_too`, hairpin): two agents of one
    machine reach each other over the LAN like any others.
    """
    behaviour = [
        ("IFLA_BRPORT_LEARNING", 0),
        ("IFLA_BRPORT_UNICAST_FLOOD", 0),
        ("IFLA_BRPORT_MODE", int(back_too)),
    ]
    details = [("IFLA_INFO_SLAVE_KIND", "bridge"), ("IFLA_INFO_SLAVE_DATA", {"attrs": behaviour})]
    return _set_link(port, [("IFLA_LINKINFO", {"attrs": details})])


def forward(mac: str, port: int) -> bytes:
    """Frames for this address leave the switch through this port."""
    return encode(
        ndmsg,
        RTM_NEWNEIGH,
        CREATE | REPLACE,
        {
            "family": socket.AF_BRIDGE,
            "ifindex": port,
            "state": NUD_NOARP,
            "flags": NTF_MASTER,
        },
        [("NDA_LLADDR", mac)],
    )


def bring_up(interface: int) -> bytes:
    return _set_link(interface, ())


def address(interface: int, address: str) -> bytes:
    return encode(
        ifaddrmsg,
        RTM_NEWADDR,
        CREATE | REPLACE,
        {"family": socket.AF_INET, "prefixlen": NETWORK.prefixlen, "index": interface},
        [("IFA_LOCAL", address), ("IFA_ADDRESS", address)],
    )


@cache
def _neighbour(address: str, mac: str) -> bytes:
    return encode(
        ndmsg,
        RTM_NEWNEIGH,
        CREATE | REPLACE,
        {"family": socket.AF_INET, "ifindex": 0, "state": NUD_PERMANENT},
        [("NDA_DST", address), ("NDA_LLADDR", mac)],
    )


def neighbour(interface: int, address: str, mac: str) -> bytes:
    """Who has which address is told and never asked for. A question could be lost like any other
    message, and then the first messages to a neighbour would be lost without having been drawn."""
    return for_interface(_neighbour(address, mac), interface)


@cache
def always_over_the_wire() -> tuple[bytes, ...]:
    """Rules by which what a host sends to its own addresses on the LAN leaves through its interface
    and comes back from the switch, so that rate, loss and partitions hold for it too. What comes in
    is looked up among the host's own addresses, as ever."""
    arriving = [("FRA_IIFNAME", HOST_INTERFACE), ("FRA_PRIORITY", 100), ("FRA_TABLE", TABLE_LOCAL)]
    leaving = [
        ("FRA_DST", str(NETWORK.network_address)),
        ("FRA_PRIORITY", 200),
        ("FRA_TABLE", TABLE_MAIN),
    ]
    others = [("FRA_PRIORITY", 300), ("FRA_TABLE", TABLE_LOCAL)]
    first = [("FRA_PRIORITY", 0), ("FRA_TABLE", TABLE_LOCAL)]
    return (
        _rule(RTM_NEWRULE, TABLE_LOCAL, arriving),
        _rule(RTM_NEWRULE, TABLE_MAIN, leaving, NETWORK.prefixlen),
        _rule(RTM_NEWRULE, TABLE_LOCAL, others),
        _rule(RTM_DELRULE, TABLE_LOCAL, first),
    )


def all_links() -> bytes:
    return encode(ifinfmsg, RTM_GETLINK, 0, {}, ())


def readiness(link: bytes) -> tuple[str, bool]:
    """An interface's name, and whether messages pass it. When both ends of a cable are up, the kernel
    still takes its time to tell the interfaces' queues and the bridge."""
    attributes = link[16:]
    name = attribute(attributes, IFLA_IFNAME).rstrip(b"\0").decode()
    is_up = attribute(attributes, IFLA_OPERSTATE) == b"\x06"
    port = attribute(attributes, IFLA_LINKINFO, IFLA_INFO_SLAVE_DATA, IFLA_BRPORT_STATE)
    return name, is_up and port in (b"", b"\x03")


def delete_link(name: str) -> bytes:
    return encode(ifinfmsg, RTM_DELLINK, 0, {}, [("IFLA_IFNAME", name)])


def delete_all_links() -> bytes:
    """All of the group, of whose members there must be one."""
    return encode(ifinfmsg, RTM_DELLINK, 0, {}, [("IFLA_GROUP", GROUP)])


def _new_link(attributes: Attributes) -> bytes:
    return encode(ifinfmsg, RTM_NEWLINK, CREATE | EXCLUSIVE, UP, attributes)


def _set_link(index: int, attributes: Attributes) -> bytes:
    return encode(ifinfmsg, RTM_NEWLINK, 0, {"index": index, **UP}, attributes)


def _rule(kind: int, table: int, attributes: Attributes, destination_length: int = 0) -> bytes:
    fields = {
        "family": socket.AF_INET,
        "dst_len": destination_length,
        "table": table,
        "action": ACTION_TO_TABLE,
    }
    flags = CREATE | EXCLUSIVE if kind == RTM_NEWRULE else 0
    return encode(fibmsg, kind, flags, fields, attributes)
