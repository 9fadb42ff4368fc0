"""The objects: every default filled in, frozen, and the same again after a journey."""

import pickle

import pydantic
import pytest
import yaml

from testbed.model import (
    Choice,
    Churn,
    Crash,
    Exponential,
    Fixed,
    Layer,
    Loss,
    Partition,
    Publication,
    Restart,
    Stillborn,
    Uniform,
    WeaklyConsistent,
    parse,
)

S = 1_000_000_000
MS = 1_000_000

SMALL = """\
name: small
protocol: gossip-broadcast
communities: {.a.b: 3}
workload: [{topic: .a.b}]
"""


def test_a_small_file_gets_every_default() -> None:
    file = parse(SMALL)
    experiment = file.points[0].experiment
    assert (file.name, file.title, file.seed, file.repetitions) == ("small", None, 1, 1)
    assert experiment.model_dump() == {
        "name": "small",
        "title": None,
        "engine": "sim",
        "topology": None,
        "transport": "udp",
        "protocol": {"name": "gossip-broadcast"},
        "membership": {"name": "static"},
        "root": ".",
        "topics": {},
        "communities": {".a.b": 3},
        "agents": (),
        "network": {"latency": {"fixed": MS}, "loss": 0.0, "losses": (), "tick": MS},
        "bootstrap": {
            "contacts": 1,
            "gateways": 0,
            "super_contacts": 0,
            "neighbourhood": 8,
            "spacing": 0,
            "overlay_gateways": 0,
        },
        "workload": (
            {
                "topic": ".a.b",
                "at": 0,
                "count": 1,
                "every": S,
                "publisher": "random",
                "bytes": 64,
                "psel": None,
            },
        ),
        "faults": (),
        "warm_up": 0,
        "duration": None,
        "repetitions": 1,
        "seed": 1,
        "journal": "full",
        "expect": (),
    }


def test_a_full_file_says_what_it_says(full: str) -> None:
    experiment = parse(full).points[1].experiment
    assert experiment.protocol == Layer(name="camcast", c=5)
    assert experiment.protocol.parameters == {"c": 5}
    assert experiment.topic_settings[".a.d"].parameters == {"c": 3}
    assert isinstance(experiment.network.latency, Uniform)
    assert (experiment.network.latency.low, experiment.network.latency.high) == (20 * MS, 70 * MS)
    assert experiment.network.losses[0].from_ == ".a.d"
    assert experiment.workload[0] == Publication.model_validate(
        {
            "topic": ".a.d.g",
            "at": "1s",
            "count": 4,
            "every": "2s",
            "publisher": 7,
            "bytes": 128,
            "psel": 0.1,
        }
    )
    stillborn, weak, crash, listed, restart, partition, loss, configure, churn = experiment.faults
    assert isinstance(stillborn, Stillborn)
    assert (stillborn.fraction, stillborn.communities) == (0.1, (".a.d",))
    assert isinstance(weak, WeaklyConsistent)
    assert isinstance(crash, Crash)
    assert (crash.at, crash.for_, crash.count) == (2 * S, 5 * S, 3)
    assert isinstance(listed, Crash)
    assert listed.agents == (0, 1114)
    assert isinstance(restart, Restart)
    assert isinstance(partition, Partition)
    assert partition.groups == ((".a", ".a.d"), (".a.d.g",))
    assert isinstance(loss, Loss)
    assert (loss.from_, loss.to) == (".a", ".a.d")
    assert configure.kind == "configure"
    assert isinstance(churn, Churn)
    assert isinstance(churn.on, Exponential)
    assert churn.on.mean == 100 * S
    assert isinstance(churn.off, Choice)
    assert churn.off.values == (S, 2 * S)


def test_agents_are_numbered_by_communities_and_then_by_groups(full: str) -> None:
    experiment = parse(full).points[0].experiment
    assert experiment.groups() == [
        ((".a",), 10),
        ((".a.d",), 100),
        ((".a.d.g",), 1000),
        ((".a.d", ".a.x"), 5),
    ]
    assert experiment.size == 1115


def test_overlay_gateways_are_in_no_community_and_come_last_but_start_first() -> None:
    experiment = parse(SMALL + "bootstrap: {overlay_gateways: 2}").points[0].experiment
    assert experiment.groups() == [((".a.b",), 3), ((), 2)]
    assert experiment.size == 5
    assert experiment.overlay_gateways == range(3, 5)
    assert experiment.starting_order() == [3, 4, 0, 1, 2]


def test_without_overlay_gateways_agents_start_as_they_are_numbered() -> None:
    assert parse(SMALL).points[0].experiment.starting_order() == [0, 1, 2]


def test_the_hierarchy_has_the_ancestors_and_the_further_parents(full: str) -> None:
    topics = parse(SMALL).points[0].experiment.topics()
    assert list(topics) == [".", ".a", ".a.b"]
    topics = parse(full).points[0].experiment.topics()
    assert topics.supers(".a.d") == (".a", ".a.x")
    assert topics.root == ".a"


def test_the_hierarchy_is_built_anew_each_time() -> None:
    experiment = parse(SMALL).points[0].experiment
    experiment.topics().add(".new")
    assert ".new" not in experiment.topics()


@pytest.mark.parametrize(
    ("text", "latency"),
    [
        ("rounds", "rounds"),
        ("{fixed: 5ms}", Fixed.model_validate({"fixed": "5ms"})),
        ("{uniform: [5ms, 5ms]}", Uniform.model_validate({"uniform": ["5ms", "5ms"]})),
        ("{exponential: 5ms}", Exponential.model_validate({"exponential": "5ms"})),
        ("{list: [5ms, 6ms]}", Choice.model_validate({"list": ["5ms", "6ms"]})),
    ],
)
def test_latencies_are_models_of_their_kind_and_come_back(text: str, latency: object) -> None:
    experiment = parse(SMALL + f"network: {{latency: {text}}}").points[0].experiment
    assert experiment.network.latency == latency
    assert parse(experiment.model_dump(mode="json")).points[0].experiment == experiment


def test_an_experiment_reads_back_from_its_own_document(full: str) -> None:
    for text in (SMALL, full):
        for point in parse(text).points:
            document = point.experiment.model_dump(mode="json")
            assert parse(document).points[0].experiment == point.experiment
            again = parse(yaml.safe_dump(document))
            assert again.points[0].experiment == point.experiment
            assert parse(parse(document).text).points == again.points


def test_durations_come_out_as_text(full: str) -> None:
    document = parse(full).points[0].experiment.model_dump(mode="json")
    assert document["bootstrap"]["spacing"] == "10ms"
    assert document["network"]["latency"] == {"uniform": ["20ms", "70ms"]}
    assert document["faults"][2]["for"] == "5s"


def test_a_file_and_its_points_can_be_sent_to_another_process(full: str) -> None:
    file = parse(full)
    assert pickle.loads(pickle.dumps(file)) == file
    assert pickle.loads(pickle.dumps(file.points[2])) == file.points[2]


def test_an_experiment_cannot_be_changed(full: str) -> None:
    experiment = parse(full).points[0].experiment
    with pytest.raises(pydantic.ValidationError):
        experiment.seed = 7
    with pytest.raises(pydantic.ValidationError):
        experiment.network.loss = 1.0
