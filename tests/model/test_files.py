"""Files: how they are found, what is told of those that are none, and overrides."""

import os
import pickle
from pathlib import Path

import pytest

from testbed.model import ExperimentError, find_experiment, load_experiment, parse

SMALL = """\
name: small
protocol: {name: gossip-broadcast, c: $c}
communities: {.a.b: 3}
workload: [{topic: .a.b}]
sweep: {c: [1, 2]}
"""


def message(path: Path) -> str:
    with pytest.raises(ExperimentError) as caught:
        load_experiment(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "{path}: is empty; an experiment has at least a name, a protocol, communities and a workload"),
        (b"# nothing\n", "{path}: is empty; an experiment has at least a name, a protocol, communities and a workload"),
        (b"- a\n- b\n", "{path}:1:1: must be a mapping, such as `name: my-experiment`, is a list"),
        (b"hello", "{path}:1:1: must be a mapping, such as `name: my-experiment`, is 'hello'"),
        (b"name: \xff\n", "{path}: is not UTF-8 text: byte 0xff in line 1"),
        (bytes(range(256)), "{path}: is not UTF-8 text: byte 0x80 in line 2"),
        (b"\x7fELF\x01\x02", "{path}:1:1: not YAML: the character U+007F is not text"),
        (b"a:\n\t- b", "{path}:2:1: not YAML: there is a tab: indent with spaces"),
        (b"a: [", "{path}:1:5: not YAML: did not find expected node content (while parsing a flow node)"),
        (b" " * ((1 << 20) + 1), "{path}: is larger than 1 MiB"),
    ],
)  # fmt: skip
def test_what_is_no_experiment_file_is_told_in_one_sentence(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(content)
    assert message(path) == expected.format(path=path)


def test_a_missing_file_and_a_directory_are_told(tmp_path: Path) -> None:
    assert message(tmp_path / "x.yaml") == f"{tmp_path}/x.yaml: there is no such file"
    assert message(tmp_path) == f"{tmp_path}: is a directory: name an experiment's YAML file"
    os.mkfifo(tmp_path / "pipe")
    assert message(tmp_path / "pipe") == (
        f"{tmp_path}/pipe: is no regular file: name an experiment's YAML file"
    )


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(SMALL, encoding="utf-8-sig")
    assert load_experiment(path).text == SMALL


def test_a_file_keeps_its_path_and_text(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(SMALL)
    file = load_experiment(path)
    assert (file.path, file.text) == (path, SMALL)


def test_an_error_can_be_sent_to_another_process() -> None:
    error = ExperimentError(["a: b", "c: d"])
    assert str(pickle.loads(pickle.dumps(error))) == "a: b\nc: d"


# Finding


def test_an_experiment_is_found_by_its_path_or_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    assert find_experiment(str(path), Path("elsewhere")) == path
    assert find_experiment("small", tmp_path) == path


def test_what_is_not_found_is_told_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError) as caught:
        find_experiment("small", tmp_path)
    assert str(caught.value) == f"there is no experiment 'small': {tmp_path} has none"
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "large.yaml").write_text(SMALL)
    (tmp_path / "notes.txt").write_text("")
    for name in ("smal", "smal.yaml", "there/smal"):
        with pytest.raises(ExperimentError) as caught:
            find_experiment(name, tmp_path)
        assert str(caught.value) == (
            f"there is no experiment '{name}': {tmp_path} has large and small; did you mean small?"
        )


@pytest.mark.parametrize("name", ["", "\0", "x" * 5000, "../..", "."])
def test_strange_names_are_only_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(ExperimentError):
        find_experiment(name, tmp_path)


# Overrides


def test_an_override_takes_the_place_of_what_the_file_says() -> None:
    file = parse(SMALL, overrides={"seed": 7, "repetitions": 2, "journal": "counts", "title": None})
    assert (file.seed, file.repetitions, file.title) == (7, 2, None)
    assert {point.experiment.journal for point in file.points} == {"counts"}


def test_a_bad_override_is_told_as_one() -> None:
    with pytest.raises(ExperimentError) as caught:
        parse(SMALL, overrides={"seed": -7, "jurnal": "full"})
    assert list(caught.value.problems) == [
        "experiment.yaml: jurnal (overridden): is not known here; did you mean journal?",
        "experiment.yaml: seed (overridden): must be at least 0, is -7",
    ]


def test_an_override_that_leaves_an_axis_without_use_is_told() -> None:
    with pytest.raises(ExperimentError) as caught:
        parse(SMALL, overrides={"protocol": "gossip-multicast"})
    assert str(caught.value) == (
        "experiment.yaml:5:9: sweep.c: nothing uses $c: use it, or remove the axis "
        "(protocol was overridden)"
    )


def test_a_file_names_protocols_from_its_own_folder_and_an_override_from_the_current_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "f.yaml"
    path.write_text(SMALL.replace("{name: gossip-broadcast, c: $c}", "mine.py:Mine")[:-19])
    assert load_experiment(path).points[0].experiment.protocol.name == f"{folder}/mine.py:Mine"
    (folder / "there").mkdir()
    monkeypatch.chdir(folder / "there")
    overrides = {"protocol": "../mine.py:Mine"}
    name = load_experiment(path, overrides).points[0].experiment.protocol.name
    assert Path(name.removesuffix(":Mine")).resolve() == folder / "mine.py"


def test_an_absolute_path_to_a_protocol_stays(folder: Path) -> None:
    text = SMALL.replace("{name: gossip-broadcast, c: $c}", f"'{folder}/mine.py:Mine'")[:-19]
    experiment = parse(text).points[0].experiment
    assert experiment.protocol.name == f"{folder}/mine.py:Mine"
    assert parse(experiment.model_dump(mode="json")).points[0].experiment == experiment
