"""`down`: everything that the ledger says is removed, and nothing else."""

from testbed.lan.ledger import Ledger
from testbed.lan.network import Network
from testbed.lan.runtimes import runtimes_of
from testbed.lan.standing import forget_standing


def clear(ledger: Ledger) -> None:
    """Remove what was made, be it by a command that was killed, so that another LAN can be made in
    its place. May be repeated."""
    forget_standing(ledger.folder)
    for runtime in runtimes_of(ledger.folder.name, ledger):
        runtime.remove_all()
    Network.remove(ledger)
    ledger.empty()


def take_down(ledger: Ledger) -> None:
    """The same, and the LAN's folder with it."""
    clear(ledger)
    ledger.remove()
