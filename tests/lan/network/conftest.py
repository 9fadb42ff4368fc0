"""LANs to try things on, removed at the end of each test."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from testbed.lan.abilities import Abilities
from testbed.lan.plan import Plan
from tests.support.namespace_hosts import Hosts, Lan, LanMaker, needs_root, plan_of


@pytest.fixture
def make_lan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LanMaker]:
    """Makes LANs of bare hosts; each has its own name."""
    if reason := needs_root():
        pytest.skip(reason)
    monkeypatch.setenv("TESTBED_STATE", str(tmp_path / "state"))
    with ExitStack() as until_the_end:

        def make(plan: Plan | None = None, can: Abilities | None = None) -> Lan:
            plan = plan or plan_of()
            hosts = until_the_end.enter_context(Hosts(len(plan.hosts)))
            lan = Lan(tmp_path / "state" / plan.name, plan, hosts, can)
            until_the_end.callback(lan.remove)
            return lan

        yield make
