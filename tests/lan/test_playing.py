"""A run's timeline: its workload and faults in the order of time, until the end that it names."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from agents.core.messages import NS_PER_S
from testbed import faults
from testbed.bootstrap import Bootstrap
from testbed.lan.cluster import Cluster
from testbed.lan.playing import Player
from testbed.model.experiment import Experiment

CRASH, RESTART = faults.Crash((1,)), faults.Restart((1,))
STEPS = ((2 * NS_PER_S, CRASH), (90 * NS_PER_S, RESTART))
"""Somebody goes while events come, and would be back long after the last."""


def player(**asked: Any) -> Player:
    experiment = Experiment.model_validate(
        {
            "name": "played",
            "protocol": {"name": "camcast"},
            "communities": {".a": 3},
            "workload": [{"topic": ".a", "at": "1s", "count": 3, "every": "1s"}],
            **asked,
        }
    )
    # All of a LAN that a timeline is made of.
    lan = SimpleNamespace(experiment=experiment, standing=SimpleNamespace(seed=1))
    schedule = faults.Schedule(frozenset(), suspicion=0.0, steps=STEPS)
    return Player(cast("Cluster", lan), Bootstrap(experiment, 1), schedule)


def times(of: Player) -> list[float]:
    return [time / NS_PER_S for time, _ in of.timeline()]


def test_what_would_happen_behind_the_end_does_not() -> None:
    assert times(player(duration="5s")) == [1, 2, 2, 3]
    assert player(duration="5s").end_ns == 5 * NS_PER_S


def test_without_an_end_all_happens_and_a_little_is_waited_for_more() -> None:
    assert times(player()) == [1, 2, 2, 3, 90]
    assert player().end_ns == 92 * NS_PER_S


@pytest.mark.parametrize("duration", ["2s", "3s"])
def test_what_is_due_at_the_very_end_still_happens(duration: str) -> None:
    asked = {"workload": [{"topic": ".a", "at": duration}], "duration": duration}
    assert max(times(player(**asked))) == player(**asked).end_ns / NS_PER_S
