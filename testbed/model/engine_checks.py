"""What an experiment says that its engine, or its topology, could not do.

The simulator has no transport and no cables; the LAN has real delays, and no oracle that would make
one agent take another for crashed. What would be ignored is refused instead.
"""

from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from testbed.model.draft import Draft
from testbed.model.errors import FieldPath, Found, described, listing, near_miss
from testbed.model.experiment import Experiment, Network
from testbed.model.faults import CrashHost, LinkChange, WeaklyConsistent
from testbed.model.lan_parts import Link
from testbed.model.links import link_changes
from testbed.model.topology import Topology
from testbed.model.wording import findings


def check_engine(experiment: Experiment | Draft, size: int | None) -> list[Found]:
    """All that does not go with the engine; `size` is how many agents there are, where known."""
    found: list[Found] = []
    if experiment.engine == "sim":
        found += _nothing_to_the_simulator(experiment)
    elif experiment.engine == "lan":
        found += _nothing_to_the_lan(experiment)
        if _has_no_topology(experiment):
            message = "lan needs a topology: name one, such as `topology: smoke`"
            found.append(Found(("engine",), message))
    topology = experiment.topology
    if topology is not None:
        if size is not None and size > topology.slots:
            message = f"has room for {topology.slots} agents, the experiment has {size}"
            found.append(Found(("topology",), f"{message}: take fewer, or a larger topology"))
        found += _hosts(experiment, topology)
    return found


def _has_no_topology(experiment: Experiment | Draft) -> bool:
    """Whether the file names none; one that is wrong is `None`, too, but was given."""
    return experiment.topology is None and "topology" not in experiment.model_fields_set


def _nothing_to_the_simulator(experiment: Experiment | Draft) -> Iterator[Found]:
    if experiment.transport not in (None, "udp"):
        message = "means nothing to engine sim, which has no transport: leave it out"
        yield Found(("transport",), message)
    if experiment.warm_up:
        message = "means nothing to engine sim, whose time begins with the workload's: leave it out"
        yield Found(("warm_up",), message)
    for number, fault in enumerate(experiment.faults or ()):
        if isinstance(fault, LinkChange):
            message = "engine sim has no links: change network.loss, or take engine lan"
            yield Found(("faults", number, "kind"), message)
        if isinstance(fault, CrashHost) and _has_no_topology(experiment):
            message = "there are no hosts without a topology: name one, or crash agents"
            yield Found(("faults", number, "kind"), message)


def _nothing_to_the_lan(experiment: Experiment | Draft) -> Iterator[Found]:
    network, usual = experiment.network, Network()
    if network is not None and network.latency not in (None, usual.latency):
        message = "engine lan has the delays of its topology's links: leave it out"
        yield Found(("network", "latency"), message)
    if network is not None and network.tick not in (None, usual.tick):
        yield Found(("network", "tick"), "is the simulator's: leave it out")
    if experiment.journal == "counts":
        message = "engine lan writes full journals only: leave it out"
        yield Found(("journal",), message)
    for number, fault in enumerate(experiment.faults or ()):
        if isinstance(fault, WeaklyConsistent):
            message = "engine lan cannot make one agent take another for crashed: take engine sim"
            yield Found(("faults", number, "kind"), message)


def _hosts(experiment: Experiment | Draft, topology: Topology) -> Iterator[Found]:
    """Whether the hosts that faults are about exist."""
    faults = experiment.faults or ()
    names = [host.name for host in topology.host_list()]
    groups = [group.name for group in topology.hosts]
    for number, fault in enumerate(faults):
        path = ("faults", number)
        if isinstance(fault, CrashHost) and fault.count is not None and fault.count > len(names):
            message = f"must be at most {len(names)}, the hosts of {topology.name}"
            yield Found((*path, "count"), f"{message}, is {fault.count}")
        if isinstance(fault, CrashHost | LinkChange):
            yield from _unknown("host", fault.hosts or (), names, (*path, "hosts"))
        if isinstance(fault, LinkChange):
            yield from _unknown("group of hosts", fault.groups or (), groups, (*path, "groups"))
    for number, made in link_changes(faults, topology):
        if isinstance(made, ValidationError):
            for problem in findings(made, Link):
                yield Found(("faults", number, *problem.path), problem.message)


def _unknown(
    what: str, given: Sequence[str], known: Sequence[str], path: FieldPath
) -> Iterator[Found]:
    for position, name in enumerate(given):
        if name not in known:
            there = f"there are {listing(known)}{near_miss(name, known)}"
            yield Found((*path, position), f"there is no {what} {described(name)}: {there}")
