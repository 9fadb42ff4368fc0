"""Asked against achieved: what a run on the LAN got of what its experiment asked of the machine.

Whoever ran it leaves `fidelity.json` in the run folder: links' rates and losses, agents' lag, how
late events and faults were. A number beyond its bound says that the run may have measured the
machine and not the protocol. A simulated run has no such file: it gets what it asks for.
"""

from pathlib import Path

import msgspec

FILE = "fidelity.json"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One number that was asked for, or that has a bound."""

    what: str
    asked: float | None
    """Nothing where only the bound matters."""
    achieved: float
    unit: str
    bound: float | None
    """How far it may be off before the run is not to be trusted; nothing where that is not judged."""
    ok: bool

    @property
    def sentence(self) -> str:
        asked = "" if self.asked is None else f", asked for {quantity(self.asked, self.unit)}"
        bound = "" if self.bound is None else f", bound {quantity(self.bound, self.unit)}"
        return f"{self.what}: {quantity(self.achieved, self.unit)}{asked}{bound}"


def read(run: Path) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
    """The facts, and what is wrong with their file; neither where there is none."""
    path = run / FILE
    try:
        return tuple(msgspec.json.decode(path.read_bytes(), type=list[Fact])), ()
    except FileNotFoundError:
        return (), ()
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
        problem = f"{run}: {FILE} cannot be read: what the machine achieved is not known"
        return (), (problem,)


def quantity(value: float, unit: str) -> str:
    return f"{value:.6g} {unit}".rstrip()
