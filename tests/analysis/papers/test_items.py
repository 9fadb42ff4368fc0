"""What was measured is found by the experiment's name and the sweep's labels."""

from analysis.papers.items import Measured
from tests.analysis.papers.built import built, measured

TWO_AXES = (
    "sweep",
    [
        ({"algorithm": "mine", "crashed": 0}, {(".a", "sent"): 10.0}),
        ({"algorithm": "mine", "crashed": 0.5}, {(".a", "sent"): 5.0}),
        ({"algorithm": "other", "crashed": 0}, {(".a", "sent"): 20.0}),
        ({"algorithm": "other", "crashed": 0.5}, {}),
    ],
)


def test_a_value_is_found_by_its_points_labels() -> None:
    run = Measured(built(TWO_AXES), "sweep")
    assert run.at(".a", "sent", algorithm="other", crashed=0) == measured(20)


def test_what_was_not_measured_is_nothing() -> None:
    run = Measured(built(TWO_AXES), "sweep")
    assert run.at(".a", "sent", algorithm="other", crashed=0.5) is None
    assert run.at(".a", "sent", algorithm="third") is None
    assert run.at(".b", "sent", algorithm="mine", crashed=0) is None


def test_a_curve_is_in_the_sweeps_order_without_its_gaps() -> None:
    run = Measured(built(TWO_AXES), "sweep")
    assert run.along("crashed", ".a", "sent", algorithm="mine") == [
        (0.0, measured(10)),
        (0.5, measured(5)),
    ]
    assert run.along("crashed", ".a", "sent", algorithm="other") == [(0.0, measured(20))]


def test_the_run_that_was_given_last_counts() -> None:
    later = ("sweep", [({"algorithm": "mine", "crashed": 0}, {(".a", "sent"): 11.0})])
    run = Measured(built(TWO_AXES, ("another", []), later), "sweep")
    assert run.at(".a", "sent", algorithm="mine", crashed=0) == measured(11)


def test_an_experiment_that_was_not_run_is_not_there() -> None:
    run = Measured(built(TWO_AXES), "another")
    assert not run.there
    assert run.repetitions == 0
    assert run.at(".a", "sent") is None
    assert run.along("crashed", ".a", "sent") == []
