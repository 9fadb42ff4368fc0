"""What each machine of a LAN is told before it starts: its `machine.json`, and a user's own files."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agents.core.messages import PeerId
from agents.host.machine import FILE, Machine
from testbed.bootstrap import Bootstrap
from testbed.lan.plan import Plan
from testbed.lan.standing import Standing, agents_by_host

MOUNTED_AT = Path("/run/testbed")
"""Where a machine sees the folder that it shares with us."""


def machine_documents(standing: Standing, bootstrap: Bootstrap, plan: Plan) -> dict[int, Machine]:
    """By host number."""
    experiment, topics = bootstrap.experiment, bootstrap.topics
    placement = standing.topology_model().placement(experiment.size)
    interests = _interests(experiment.groups())
    common: dict[str, Any] = {
        "epoch_ns": standing.epoch_ns,
        "run": standing.run,
        "seed": standing.seed,
        "point": standing.point,
        "repetition": standing.repetition,
        "transport": experiment.transport,
        "addresses": [plan.endpoint(*place) for place in placement],
        "root": topics.root,
        "topics": [(name, list(topics.supers(name)[1:])) for name in _addable(bootstrap)],
        "communities": bootstrap.members,
        "protocol": _in_the_machine(experiment.protocol.name),
        "membership": _in_the_machine(experiment.membership.name),
        "parameters": experiment.protocol.parameters,
        "membership_parameters": experiment.membership.parameters,
        "topic_parameters": {
            name: dict(settings.parameters) for name, settings in experiment.topic_settings.items()
        },
        "configured": standing.configured,
    }
    by_host = agents_by_host(placement)
    return {
        host.number: Machine(
            host=host.number,
            name=host.name,
            agents=by_host.get(host.number, []),
            interests={agent: interests[agent] for agent in by_host.get(host.number, [])},
            **common,
        )
        for host in standing.topology_model().host_list()
    }


def write_machine(folder: Path, machine: Machine, files: Mapping[str, Path]) -> None:
    """`files` are a user's own, by the names that the machine knows them by."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in files.items():
        shutil.copyfile(path, folder / name)
        (folder / name).chmod(0o644)
    unfinished = folder / f"{FILE}.part"
    unfinished.write_bytes(msgspec.json.encode(machine))
    unfinished.chmod(0o644)
    unfinished.replace(folder / FILE)


def user_files(bootstrap: Bootstrap) -> dict[str, Path]:
    """The files that the protocol and the membership are taken from, where they are not ours."""
    layers = (bootstrap.experiment.protocol.name, bootstrap.experiment.membership.name)
    paths = [Path(name.rpartition(":")[0]) for name in layers if ":" in name]
    return {path.name: path for path in paths}


def _in_the_machine(name: str) -> str:
    path, _, class_name = name.rpartition(":")
    return f"{MOUNTED_AT / Path(path).name}:{class_name}" if path else name


def _addable(bootstrap: Bootstrap) -> list[str]:
    """Every topic but the root, none before one that it lies under."""
    topics = bootstrap.topics
    return sorted((name for name in topics if name != topics.root), key=topics.level)


def _interests(groups: list[tuple[tuple[str, ...], int]]) -> dict[PeerId, list[str]]:
    found: dict[PeerId, list[str]] = {}
    for topics, count in groups:
        for _ in range(count):
            found[len(found)] = list(topics)
    return found
