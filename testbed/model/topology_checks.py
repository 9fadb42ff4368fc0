"""What must hold between the parts of a topology: one tree of switches, hosts on it, room for all.

Each check reports at the field that would have to be changed. A part that is `None` was wrong in
itself; nothing is said about it again, nor about what cannot be known without it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from agents.core.errors import TopicError
from agents.core.topics import Topics
from testbed.model.errors import FieldPath, Found, described, listing, near_miss
from testbed.model.lan_parts import MAX_HOSTS, MAX_PORTS, HostGroup, Switch

Switches = Mapping[str, Switch | None]
Groups = Sequence[HostGroup | None]


def check_topology(
    root: str | None,
    switches: Switches | None,
    hosts: Groups | None,
    communities: Mapping[str, int | None] | None,
    gateways: int | None,
) -> list[Found]:
    """All that is wrong between them."""
    found: list[Found] = []
    if switches is not None:
        found += _uplinks(switches)
        found += _cycles(switches)
        found += _roots(switches)
    if hosts is not None:
        if switches is not None:
            found += _places(hosts, switches)
            found += _ports(hosts, switches)
        found += _names(hosts, switches or {})
    if root is not None and communities is not None:
        found += _topics(root, communities)
    if hosts is not None and communities is not None and gateways is not None:
        found += _room(hosts, communities, gateways)
    return found


def _no_switch(name: str, switches: Switches) -> str:
    there = f"there {'is' if len(switches) == 1 else 'are'} {listing(switches)}"
    return f"there is no switch {described(name)}: {there}{near_miss(name, switches)}"


def _uplinks(switches: Switches) -> Iterator[Found]:
    for name, switch in switches.items():
        if switch is None:
            continue
        if switch.uplink is not None and switch.uplink not in switches:
            yield Found(("switches", name, "uplink"), _no_switch(switch.uplink, switches))
        if switch.uplink is None and switch.link != type(switch.link)():
            message = "is to the switch above, and there is none: leave it out, or give an uplink"
            yield Found(("switches", name, "link"), message)


def _uplink(name: str, switches: Switches) -> str | None:
    switch = switches.get(name)
    return switch.uplink if switch else None


def _cycles(switches: Switches) -> Iterator[Found]:
    """Each once, at the first of its switches."""
    done: set[str] = set()
    for name in switches:
        way: dict[str, None] = {}
        here: str | None = name
        while here is not None and here not in done and here not in way:
            way[here] = None
            here = _uplink(here, switches)
        if here in way:
            circle = list(way)[list(way).index(here) :]
            message = (
                f"makes a cycle of {listing([*circle, here])}: one of them must have no uplink"
            )
            yield Found(("switches", here, "uplink"), message)
        done.update(way)


def _roots(switches: Switches) -> Iterator[Found]:
    roots = [name for name, switch in switches.items() if switch and switch.uplink is None]
    for name in roots[1:]:
        message = (
            f"has no uplink, as {roots[0]} has none: a tree has one root, so give it an uplink"
        )
        yield Found(("switches", name), message, True)


def _places(hosts: Groups, switches: Switches) -> Iterator[Found]:
    for number, group in enumerate(hosts):
        if group is not None and group.switch not in switches:
            yield Found(("hosts", number, "switch"), _no_switch(group.switch, switches))


def _ports(hosts: Groups, switches: Switches) -> Iterator[Found]:
    ports: Counter[str] = Counter()
    for group in hosts:
        if group is not None:
            ports[group.switch] += group.count
    for name, switch in switches.items():
        if switch is not None and switch.uplink is not None:
            ports[name] += 1
            ports[switch.uplink] += 1
    for name in switches:
        if ports[name] > MAX_PORTS:
            message = (
                f"has {ports[name]} links, a switch has at most {MAX_PORTS} ports: use several"
            )
            yield Found(("switches", name), message, True)


def _names(hosts: Groups, switches: Switches) -> Iterator[Found]:
    total = sum(group.count for group in hosts if group is not None)
    if total > MAX_HOSTS:
        yield Found(("hosts",), f"makes {total} hosts, at most {MAX_HOSTS} can be on one machine")
        return
    whose: dict[str, str] = {name: f"the switch {name}" for name in switches}
    for number, group in enumerate(hosts):
        twice = [name for name in group.names() if name in whose] if group else []
        if group is None:
            continue
        if twice:
            several = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
            used = f"{twice[0]} is {whose[twice[0]]} already{several}"
            yield Found(("hosts", number, "name"), f"{used}: take another name")
        for name in group.names():
            whose.setdefault(name, f"a host of hosts[{number}]")


def _topics(root: str, communities: Mapping[str, int | None]) -> Iterator[Found]:
    topics = Topics(root)
    for topic in communities:
        try:
            topics.add_path(topic)
        except TopicError as error:
            yield Found(("communities", topic), str(error), True)


def _room(hosts: Groups, communities: Mapping[str, int | None], gateways: int) -> Iterator[Found]:
    groups = [group for group in hosts if group is not None]
    counts = [count for count in communities.values() if count is not None]
    if len(groups) < len(hosts) or len(counts) < len(communities):
        return
    path: FieldPath = ("communities",)
    if not sum(counts):
        yield Found(path, "has no agents at all: give a community at least 1")
    slots = sum(group.count * group.agents for group in groups)
    agents = sum(counts) + gateways
    if agents > slots:
        with_gateways = f" with {gateways} gateways" if gateways else ""
        message = f"has {agents} agents{with_gateways}, the hosts have room for {slots}"
        yield Found(path, f"{message}: add hosts, or agents to a host")
