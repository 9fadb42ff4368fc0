"""A LAN's network: built from a plan, impaired while it runs, removed from the ledger alone.

All that is made outside the hosts' namespaces is one network namespace, kept by the file `switches`
in the LAN's folder: bridges, the switches' ends of cables, queues and nftables' table are in it. So
one line of the ledger tells all, and removing that namespace removes all. To look into it:

    nsenter --net=/var/lib/testbed/NAME/switches  ip link

Loss is drawn by nftables wherever it can, even where netem could: only so is it known how many
messages were lost, and whose. netem does what only it can, and loss where nftables cannot.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from agents.core.errors import LocalError
from agents.core.journal import Cause
from testbed.lan import drops, namespaces, queues, wires
from testbed.lan.abilities import Abilities, abilities
from testbed.lan.impairments import Impairments, Who, combined
from testbed.lan.ledger import Ledger
from testbed.lan.netlink import Kernel, is_missing
from testbed.lan.plan import HOST_INTERFACE, HostPlan, Place, Plan
from testbed.model.lan_parts import Link

KIND = "switches"
"""In the ledger, and the name of the file that keeps the namespace."""
PROCESSES = "network.json"

Dropped = dict[tuple[Cause, int | None, int | None], int]
"""By cause, the sender's host and the receiver's, as far as they are known."""


class Network:
    """The network of one LAN that stands."""

    def __init__(self, plan: Plan, folder: Path, can: Abilities | None = None) -> None:
        self.plan = plan
        self.folder = folder
        self.can = can or abilities()
        self.impairments = Impairments.read(folder)
        self._processes = _read_processes(folder)

    @classmethod
    def build(
        cls,
        plan: Plan,
        pids: Mapping[int, int],
        ledger: Ledger,
        can: Abilities | None = None,
    ) -> Self:
        """Wire all hosts. `pids` are processes in the hosts' network namespaces, by the hosts'
        numbers; `can` is for machines that shall do less than they can."""
        network = cls(plan, ledger.folder, can)
        for link in network._links():
            network.can.check(link)
        with _explained(plan):
            path = ledger.folder / KIND
            if path.exists():
                raise LocalError(f"LAN {plan.name} is wired already: 'testbed down' removes it")
            ledger.note(KIND, path=str(path))
            namespaces.make(path)
            with namespaces.opened(path) as namespace:
                wires.prepare_switches(namespace)
                network._install_drops()
                wires.wire(plan, pids, namespace)
            network._remember(pids)
            network._new_queues_at_switches([host.port for host in plan.hosts], uplinks=True)
            for host in pids:
                network._new_queues_at_host(host)
        return network

    @classmethod
    def open(cls, plan: Plan, ledger: Ledger) -> Self:
        """The network that was built from this plan."""
        if not namespaces.is_kept(ledger.folder / KIND):
            raise LocalError(
                f"LAN {plan.name} has no network any more: 'testbed down' removes what is left"
            )
        return cls(plan, ledger.folder)

    @staticmethod
    def remove(ledger: Ledger) -> None:
        """All that was noted, whether it was made or not, as often as one likes."""
        for entry in ledger.entries(KIND):
            path = Path(entry["path"])
            if namespaces.is_kept(path):
                with namespaces.opened(path) as namespace:
                    wires.unwire(namespace)
            namespaces.forget(path)

    def attach(self, host: int, pid: int) -> None:
        """Plug in a host again that has a new namespace: same port, addresses and impairments."""
        with _explained(self.plan), self._switches() as namespace:
            wires.wire_again(self.plan, host, pid, namespace)
            self._remember({host: pid})
            self._new_queues_at_switches([self.plan.host(host).port], uplinks=False)
            self._new_queues_at_host(host)

    # Impairments

    def set_loss(
        self,
        loss: float,
        hosts: Who | None = None,
        between: tuple[Who, Who] | None = None,
    ) -> None:
        """Of messages from now on, drawn once for each where it enters the LAN: for all, for those
        that these hosts or agents send, or from one group to another. The more special holds."""
        _check_probability(loss)
        self.can.check_loss()
        if between is not None:
            self.can.check_groups("a loss between groups")
            self.impairments.set_loss_between(self.plan, *between, loss)
        elif hosts is not None:
            self.can.check_groups("a loss of some senders")
            self.impairments.set_loss(self.plan, loss, hosts)
        else:
            before = self._host_queues()
            self.impairments.set_loss(self.plan, loss)
            self._change_host_queues(before)
        self._impaired()

    def set_link(self, host: int, link: Link) -> None:
        """Another rate, loss, delay … of a host's link, in both directions."""
        self.can.check(link)
        before = self._host_queues()
        before_at_switch = self._switch_queues(self.plan.host(host))
        self.impairments.set_link(host, link)
        self._change_host_queues(before)
        port = self.plan.host(host).port
        after_at_switch = self._switch_queues(self.plan.host(host))
        with _explained(self.plan), self._switches() as namespace:
            _change_queues(namespace, port, before_at_switch, after_at_switch)
        self._impaired()

    def partition(self, sides: Iterable[Who]) -> None:
        """Nothing passes from one side to another; who is on none reaches all. Takes the place of
        the partition before."""
        self.can.check_groups("a partition")
        self.impairments.set_sides(self.plan, sides)
        self._impaired()

    def heal(self) -> None:
        """No partition any more."""
        self.impairments.set_sides(self.plan, ())
        self._impaired()

    def dropped(self) -> Dropped:
        """How many messages to agents were dropped since the LAN was built: drawn lost, cut off by
        a partition, or because a queue on their way was full. Queues count packets of any kind, and
        from the beginning again when their host restarts."""
        found: Dropped = {}
        with _explained(self.plan):
            if not self.can.without_drops:
                for (cause, sender, receiver), packets in drops.count(self._path).items():
                    key = _cause(cause), self._host_of(sender), self._host_of(receiver)
                    found[key] = found.get(key, 0) + packets
            for key, packets in self._dropped_in_queues():
                found[key] = found.get(key, 0) + packets
        return {key: packets for key, packets in found.items() if packets}

    def dropped_between(self) -> dict[tuple[Cause, Place, Place], int]:
        """The datagrams that were drawn lost or cut off, by the agents' places, since `forget`."""
        if self.can.without_drops:
            return {}
        places = self.plan.places
        with _explained(self.plan):
            return {
                (_cause(cause), places[sender], places[receiver]): packets
                for (cause, sender, receiver), packets in drops.count(self._path).items()
                if sender in places and receiver in places
            }

    def forget(self) -> None:
        """Count from nought again what is dropped."""
        if not self.can.without_drops:
            with _explained(self.plan):
                drops.forget(self._path)

    def unimpair(self) -> None:
        """As it was when it was built: links as planned, no loss beside theirs, no partition."""
        for host in list(self.impairments.links):
            self.set_link(host, self.plan.host(host).link)
        before = self._host_queues()
        self.impairments = Impairments()
        self._change_host_queues(before)
        self._impaired()
        self.forget()

    def is_attached(self, host: int) -> bool:
        """Whether the namespace that was wired is there."""
        try:
            self.namespace_of(host)
        except HostIsDown:
            return False
        return True

    def namespace_of(self, host: int) -> str:
        """The path of a host's network namespace."""
        name = self.plan.host(host).name
        pid, inode = self._processes.get(host, (0, 0))
        path = namespaces.of_process(pid)
        try:
            if os.stat(path).st_ino == inode:
                return path
        except (FileNotFoundError, ProcessLookupError):
            pass
        raise HostIsDown(f"host {name} is down: 'testbed restart' starts it again")

    # Within

    @property
    def _path(self) -> Path:
        return self.folder / KIND

    @contextmanager
    def _switches(self) -> Iterator[int]:
        with namespaces.opened(self._path) as namespace:
            yield namespace

    def _links(self) -> Iterator[Link]:
        yield from (switch.link for switch in self.plan.switches if switch.above is not None)
        yield from (self.impairments.link(self.plan, host.number) for host in self.plan.hosts)

    def _host_of(self, address: str) -> int | None:
        place = self.plan.places.get(address)
        return place and place[0]

    def _remember(self, pids: Mapping[int, int]) -> None:
        for host, pid in pids.items():
            self._processes[host] = pid, os.stat(namespaces.of_process(pid)).st_ino
        unfinished = self.folder / f"{PROCESSES}.part"
        unfinished.write_text(json.dumps(self._processes))
        unfinished.replace(self.folder / PROCESSES)

    def _impaired(self) -> None:
        """Written before it is done, so that a host that is attached meanwhile has it too."""
        self.impairments.write(self.folder)
        with _explained(self.plan):
            self._install_drops()

    def _install_drops(self) -> None:
        if self.can.without_drops:
            return
        agents = len(self.plan.places)
        ports = [host.port for host in self.plan.hosts]
        drops.install(self._path, self.impairments.rules(self.plan), ports, agents * agents)

    # Queues: (link, loss that netem must draw)

    def _host_queues(self) -> dict[int, queues.Asked]:
        """At the hosts' ends: for what they send."""
        return {host.number: self._host_queue(host.number) for host in self.plan.hosts}

    def _host_queue(self, host: int) -> queues.Asked:
        link = self.impairments.link(self.plan, host)
        return link, self._by_netem(self.impairments.loss, link.loss)

    def _switch_queues(self, host: HostPlan) -> queues.Asked:
        """At the switch's end of a host's link: for what it receives."""
        link = self.impairments.link(self.plan, host.number)
        return link, self._by_netem(link.loss)

    def _by_netem(self, *losses: float) -> float:
        return combined(losses) if self.can.without_drops else 0.0

    def _new_queues_at_switches(self, ports: Collection[str], *, uplinks: bool) -> None:
        asked = {
            host.port: self._switch_queues(host) for host in self.plan.hosts if host.port in ports
        }
        if uplinks:
            for switch in self.plan.switches:
                for port in (switch.up_port, switch.down_port):
                    if port is not None:
                        asked[port] = switch.link, self._by_netem(switch.link.loss)
        with self._switches() as namespace, Kernel(namespace) as kernel:
            indexes = namespaces.indexes_in(namespace)
            requests = [
                request
                for port, one in asked.items()
                if port in indexes
                for request in queues.on(indexes[port], queues.new_queues(*one))
            ]
            kernel.do("setting rates", requests)

    def _new_queues_at_host(self, host: int) -> None:
        requests = queues.new_queues(*self._host_queue(host))
        if requests:
            with (
                namespaces.opened(self.namespace_of(host)) as namespace,
                Kernel(namespace) as kernel,
            ):
                interface = namespaces.indexes_in(namespace)[HOST_INTERFACE]
                kernel.do("setting a rate", queues.on(interface, requests))

    def _change_host_queues(self, before: Mapping[int, queues.Asked]) -> None:
        """Where something is different now. A host that is down gets it when it is attached."""
        with _explained(self.plan):
            for host, old in before.items():
                new = self._host_queue(host)
                if new != old:
                    try:
                        with namespaces.opened(self.namespace_of(host)) as namespace:
                            _change_queues(namespace, HOST_INTERFACE, old, new)
                    except HostIsDown:
                        continue

    def _dropped_in_queues(self) -> Iterator[tuple[tuple[Cause, int | None, int | None], int]]:
        with self._switches() as namespace:
            host_of = {host.port: host.number for host in self.plan.hosts}
            for name, (lost, full) in _dropped_at(namespace).items():
                yield ("loss", None, host_of.get(name)), lost
                yield ("overflow", None, host_of.get(name)), full
        for host in self._processes:
            try:
                with namespaces.opened(self.namespace_of(host)) as namespace:
                    lost, full = _dropped_at(namespace).get(HOST_INTERFACE, (0, 0))
            except HostIsDown:
                continue
            yield ("loss", host, None), lost
            yield ("overflow", host, None), full


class HostIsDown(LocalError):
    """There is no process in its namespace any more."""


def _read_processes(folder: Path) -> dict[int, tuple[int, int]]:
    """By host: a process in its network namespace, and which namespace that is."""
    try:
        found = json.loads((folder / PROCESSES).read_text())
    except FileNotFoundError:
        return {}
    return {int(host): (pid, inode) for host, (pid, inode) in found.items()}


def _change_queues(
    namespace: int, interface: str, before: queues.Asked, after: queues.Asked
) -> None:
    """In place if they have the same shape, else anew."""
    indexes = namespaces.indexes_in(namespace)
    if interface not in indexes:
        return  # its host is down
    requests = list(queues.new_queues(*after))
    if queues.shape(*before) != queues.shape(*after) and any(queues.shape(*before)):
        requests.insert(0, queues.no_queues())
    with Kernel(namespace) as kernel:
        kernel.do("changing a link", queues.on(indexes[interface], tuple(requests)))


def _dropped_at(namespace: int) -> dict[str, tuple[int, int]]:
    """By interface: what netem dropped, and what a full queue did."""
    names = {index: name for name, index in namespaces.indexes_in(namespace).items()}
    with Kernel(namespace) as kernel:
        found = queues.dropped_in_queues(kernel)
    return {names[index]: packets for index, packets in found.items() if index in names}


def _cause(name: str) -> Cause:
    return "partition" if name == "partition" else "loss"


def _check_probability(loss: float) -> None:
    if not 0 <= loss <= 1:
        raise LocalError(f"a loss must be between 0 and 1, is {loss}")


@contextmanager
def _explained(plan: Plan) -> Iterator[None]:
    """What the kernel refuses, as an error of this LAN."""
    try:
        yield
    except OSError as error:
        if is_missing(error):
            raise LocalError(
                f"a part of LAN {plan.name} went away meanwhile ({error}): 'testbed status' tells "
                "what is up"
            ) from error
        raise LocalError(f"LAN {plan.name} cannot be wired: {error}") from error
