"""What stands: the facts of one LAN that the commands after `up` go by, in its `lan.json`."""

import time
from pathlib import Path
from typing import Any

import msgspec

from agents.core.errors import LocalError
from agents.core.messages import PeerId
from testbed.model.experiment import Experiment
from testbed.model.topology import Topology

FILE = "lan.json"


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Written when the LAN stands, and anew for each run on it."""

    name: str
    runtime: str
    topology: dict[str, Any]
    experiment: dict[str, Any]
    """Of the run that is on now; its workload and faults are played by `run` alone."""
    run: str
    """Which experiment it is, as its fingerprint says."""
    seed: int
    """This repetition's own."""
    file_seed: int
    point: int = 0
    repetition: int = 0
    epoch_ns: int
    """When the run's time began, on the kernel's monotonic clock."""
    started: str
    counting_since: int = 0
    """From when on the network has counted what it drops, in the run's time."""
    kept: bool = False
    """Whether `up` came to its end: until then, and during a `run`, it is its command's alone."""
    configured: list[tuple[str, dict[str, Any]]] = []
    """Parameters that were changed while running, for agents that restart."""

    def topology_model(self) -> Topology:
        return Topology.model_validate(self.topology)

    def experiment_model(self) -> Experiment:
        return Experiment.model_validate(self.experiment)


def monotonic_ns() -> int:
    """The kernel's clock, which all machines share."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def write_standing(folder: Path, standing: Standing) -> None:
    unfinished = folder / f"{FILE}.part"
    unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(standing)))
    unfinished.replace(folder / FILE)


def read_standing(folder: Path) -> Standing:
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Standing)
    except FileNotFoundError:
        raise LocalError(
            f"no LAN called {folder.name!r} stands: start one with `testbed up`"
        ) from None
    except PermissionError:
        raise LocalError(f"{folder} is root's: run the command as root") from None
    except msgspec.MsgspecError as error:
        raise LocalError(
            f"{folder / FILE} cannot be read ({error}): `testbed down` removes what is left"
        ) from None


def forget_standing(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)


def agents_by_host(placement: list[tuple[int, int]]) -> dict[int, list[PeerId]]:
    """By host number: its agents, by slot."""
    slots: dict[int, dict[int, PeerId]] = {}
    for agent, (host, slot) in enumerate(placement):
        slots.setdefault(host, {})[slot] = agent
    return {host: [found[slot] for slot in sorted(found)] for host, found in slots.items()}
