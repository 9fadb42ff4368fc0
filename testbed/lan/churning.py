"""Churn by hand: the schedule that an experiment's `churn` would be, on a LAN that stands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from agents.core.errors import LocalError
from agents.core.messages import PeerId
from testbed import faults
from testbed.bootstrap import Bootstrap
from testbed.lan.choosing import require_community
from testbed.lan.cluster import Cluster
from testbed.lan.joining import until
from testbed.lan.playing import restart
from testbed.model.experiment import Experiment
from testbed.model.units import parse_duration

Advance = Callable[[int, int], None]


@dataclass
class Churned:
    crashes: int = 0
    restarts: int = 0
    down: list[PeerId] = field(default_factory=list)
    """Who does not answer at the end: crashed by somebody else, or frozen."""


async def churn_for(
    cluster: Cluster,
    bootstrap: Bootstrap,
    on: str,
    off: str,
    for_: str,
    communities: Sequence[str],
    rng: Random,
    advance: Advance,
) -> Churned:
    """Durations are as in files: `30s`, `500ms`."""
    for topic in communities:
        require_community(cluster, topic)
    begin, length = cluster.happenings.now, _duration(for_, "--for")
    for text, option in ((on, "--on"), (off, "--off")):
        _duration(text, option)
    fault = {
        "kind": "churn",
        "from": f"{begin}ns",
        "until": f"{begin + length}ns",
        "on": {"exponential": on},
        "off": {"exponential": off},
        **({"communities": list(communities)} if communities else {}),
    }
    document = cluster.experiment.model_dump(mode="json", by_alias=True) | {"faults": [fault]}
    experiment = Experiment.model_validate(document)
    done = Churned()
    for time, step in faults.schedule(experiment, bootstrap.members, rng).steps:
        if time > begin + length:
            break
        await until(cluster, time)
        match step:
            case faults.Crash(agents):
                done.crashes += len(await cluster.crash(agents))
            case faults.Restart(agents):
                done.restarts += len(await restart(cluster, bootstrap, list(agents or ())))
        advance(min(length, cluster.happenings.now - begin), length)
    await until(cluster, begin + length)
    await cluster.restart_hosts(cluster.hosts)
    done.restarts += len(await restart(cluster, bootstrap, list(range(cluster.size))))
    statuses = await cluster.statuses()
    done.down = [agent for agent, status in statuses.items() if status is None]
    return done


def _duration(text: str, option: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise LocalError(f"{option}: {error}") from None
