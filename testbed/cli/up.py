"""`testbed up`: a LAN of real agents, joined."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agents.core.registry import memberships
from testbed.cli.lan import DEFAULT, Json, Name
from testbed.cli.progress import bars
from testbed.lan.runtimes import RuntimeName
from testbed.lan.state import require_root
from testbed.model import parse
from testbed.model.topology import Topology, load_topology

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.up import Joined, Lan, Order


def up(
    topology: Annotated[str, typer.Option(help="A file, or the name of one of ours.")] = "smoke",
    runtime: Annotated[
        RuntimeName,
        typer.Option(help="docker, namespace, or auto: docker where an engine answers."),
    ] = "auto",
    protocol: Annotated[str, typer.Option(help="A name, or path/to/file.py:Name.")] = "camcast",
    membership: Annotated[str, typer.Option(help="As `testbed protocols` lists them.")] = "scamp",
    transport: Annotated[
        Literal["udp", "tcp"], typer.Option(help="What carries messages.")
    ] = "udp",
    loss: Annotated[float, typer.Option(min=0.0, max=1.0, help="Of all messages.")] = 0.0,
    seed: Annotated[int, typer.Option(help="For everything that is drawn.")] = 1,
    name: Name = DEFAULT,
    as_json: Json = False,
) -> None:
    """Start machines on an emulated LAN, and wait until every agent takes part."""
    from testbed.lan.up import holding, impair, join_now, keep, or_nothing, raise_lan

    require_root("starting a LAN")
    found = load_topology(topology)
    order = order_for(found, name, runtime, seed, protocol, membership, transport, loss)
    with bars() as watcher, holding(name) as ledger, or_nothing(ledger, watcher):
        lan = raise_lan(order, ledger, watcher)
        impair(lan, order.experiment.network)
        joined = join_now(lan, order.experiment, watcher)
        keep(lan)
    if as_json:
        facts = {
            "name": name,
            "runtime": lan.runtime.name,
            "agents": order.experiment.size,
            "stragglers": joined.stragglers,
            "seconds": lan.seconds,
        }
        print(json.dumps(facts))
    else:
        _print(order, lan, joined)
    if joined.stragglers:
        raise typer.Exit(1)


def order_for(
    topology: Topology,
    name: str,
    runtime: RuntimeName,
    seed: int,
    protocol: str = "camcast",
    membership: str = "scamp",
    transport: str = "udp",
    loss: float = 0.0,
) -> Order:
    """An experiment as a file would say it, so that all of it is checked before anything starts."""
    from testbed.lan.up import Order

    lowest = max(topology.communities, key=lambda topic: topic.count("."))
    document = {
        "name": topology.name,
        "engine": "lan",
        "topology": topology.model_dump(mode="json", by_alias=True),
        "protocol": protocol,
        "membership": membership,
        "transport": transport,
        "network": {"loss": loss},
        "bootstrap": _bootstrap(membership),
        "workload": [{"topic": lowest}],
        "duration": "1s",
        "seed": seed,
    }
    experiment = parse(document).points[0].experiment
    return Order(name, topology, experiment, runtime, run=f"up-{topology.name}", seed=seed)


def _bootstrap(membership: str) -> dict[str, int]:
    """Super-contacts are for those who can look up none (CAMCAST 5.2)."""
    found = memberships.load(membership)
    if found.instant:
        return {}
    return {"contacts": 1} if found.looks_up else {"contacts": 1, "super_contacts": 4}


def _print(order: Order, lan: Lan, joined: Joined) -> None:
    seconds = lan.seconds
    machines = len(order.topology.host_list())
    name = "" if order.name == DEFAULT else f" --name {order.name}"
    print(
        f"{order.name}: {machines} machines ({lan.runtime.name}) and {order.experiment.size} agents "
        f"on {order.topology.name}"
    )
    print(
        f"machines {seconds['machines']:.1f} s · links {seconds['links']:.1f} s · "
        f"joining {seconds['joining']:.1f} s · tables {seconds['tables']:.1f} s"
    )
    if joined.stragglers:
        some = ", ".join(map(str, joined.stragglers[:10]))
        print(f"{len(joined.stragglers)} agents do not take part or know nobody: {some}")
    lowest = order.experiment.workload[0].topic
    print(
        f"next: testbed status{name} · testbed publish {lowest}{name} · testbed crash --count 3{name}"
    )
    print(f"      testbed loss 0.15{name} · testbed collect{name} · testbed down{name}")
