"""What an experiment's faults make of the topology's links, one after another."""

from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from testbed.model.faults import Fault, LinkChange
from testbed.model.lan_parts import Link
from testbed.model.topology import Topology


def link_changes(
    faults: Sequence[Fault | None], topology: Topology
) -> Iterator[tuple[int, dict[int, Link] | ValidationError]]:
    """In the order of their times, each change's position in the list with the links that it makes,
    by host; or why there can be no such link."""
    hosts = topology.host_list()
    links = {host.number: host.link for host in hosts}
    changes = [(n, fault) for n, fault in enumerate(faults) if isinstance(fault, LinkChange)]
    for position, change in sorted(changes, key=lambda entry: entry[1].at):
        named, groups = set(change.hosts or ()), set(change.groups or ())
        known: dict[Link, Link] = {}  # hosts of a group have the same link
        made: dict[int, Link] = {}
        try:
            for host in hosts:
                if (named and host.name not in named) or (groups and host.group not in groups):
                    continue
                before = links[host.number]
                if before not in known:
                    known[before] = change.applied(before)
                made[host.number] = known[before]
        except ValidationError as error:
            yield position, error
            continue
        links.update(made)
        yield position, made
