"""Static tables: random ones of the papers' sizes, drawn once (CAMCAST 6.1.1).

"The membership tables of a process are determined statically. These tables are initialized at the
beginning of the simulation and do not change." State: the table. No messages, no timers.
"""

from collections.abc import Sequence

from agents.core.draw import sample, sample_others
from agents.core.membership import Membership
from agents.core.messages import PeerId
from agents.core.registry import memberships


class Static(Membership):
    name = "static"
    instant = True

    _table: Sequence[PeerId] = ()
    _joined = False

    @property
    def members(self) -> Sequence[PeerId]:
        return self._table

    def join(self) -> None:
        pool, me, random = self.population.peers, self.port.peer, self.port.rng.random
        self._table = sample_others(pool, me, self.population.size, random)
        self._joined = True
        self.carrier.membership_ready()

    def resize(self, size: int) -> None:
        """Keep whom it has, as far as there is room; draw whom it lacks."""
        super().resize(size)
        table = list(self._table[:size])
        if self._joined and len(table) < size:
            known = {self.port.peer, *table}
            others = [peer for peer in self.population.peers if peer not in known]
            table += sample(others, size - len(table), self.port.rng.random)
        self._table = table

    def leave(self) -> None:
        self._table = ()
        self._joined = False


memberships.register(Static)
