"""`testbed publish`: an event, from outside."""

from __future__ import annotations

import json
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated

import typer

from agents.core.errors import LocalError
from agents.core.registry import protocols
from testbed.cli.lan import DEFAULT, Json, Name, with_agents

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.cluster import Cluster


def publish(
    topic: Annotated[str, typer.Argument(help="Such as .a.d.g.")],
    text: Annotated[str, typer.Argument(help="What the event says.")] = "hello",
    agent: Annotated[
        int | None, typer.Option(help="Who publishes it; else a member, drawn at random.")
    ] = None,
    psel: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Its own probability of being passed up.")
    ] = None,
    name: Name = DEFAULT,
    as_json: Json = False,
) -> None:
    """Publish an event. `testbed status` shows how many agents have seen it."""
    from testbed.lan.choosing import require_community

    async def act(cluster: Cluster) -> tuple[int, str]:
        protocol = protocols.load(cluster.experiment.protocol.name)
        if psel is not None and not protocol.passes_up:
            raise LocalError(f"{protocol.name} passes nothing up: leave out --psel")
        publisher = agent
        if publisher is None:
            members = cluster.members(require_community(cluster, topic))
            statuses = await cluster.statuses()
            up = [member for member in members if statuses[member]]
            if not up:
                raise LocalError(f"nobody of {topic} is up: name a publisher with --agent")
            publisher = SystemRandom().choice(up)
        return publisher, await cluster.publish(publisher, topic, text.encode(), psel)

    publisher, event = with_agents(name, act)
    if as_json:
        print(json.dumps({"event": event, "agent": publisher, "topic": topic}))
    else:
        print(f"agent {publisher} published event {event} of {topic}")
