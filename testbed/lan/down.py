"""`down`: everything that the ledger says is removed, and nothing else."""

from testbed.lan.ledger import Ledger
from testbed.lan.network import Network
from testbed.lan.runtimes import runtimes_of
from testbed.lan.standing import forget_standing


def clear(ledger: Ledger) -> int:
    """Remove what was made, be it by a command that was killed; returns how many things were
    noted. May be repeated."""
    noted = len(ledger.entries())
    forget_standing(ledger.folder)
    for runtime in runtimes_of(ledger.folder.name, ledger):
        runtime.remove_all()
    Network.remove(ledger)
    return noted


def take_down(ledger: Ledger) -> int:
    """The same, and the LAN's folder with it."""
    noted = clear(ledger)
    ledger.remove()
    return noted
