"""Whatever the bytes: an experiment file, or an `ExperimentError` of one line for each problem."""

import string
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.model import ExperimentError, ExperimentFile, load_experiment, parse

from .conftest import FULL, FULL_LAN

KEYS = sorted(
    {
        word
        for word in (FULL + FULL_LAN).replace(":", " ").replace("{", " ").split()
        if word.isidentifier()
    }
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 2000)
    | st.integers()
    | st.floats()
    | st.sampled_from(["$crashed", "$x.y", "5s", "0s", ".a", ".a.d", ".x", "rounds", "random", "."])
    | st.sampled_from(KEYS)
    | st.text(max_size=5)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def outcome(document: object) -> ExperimentFile | ExperimentError:
    try:
        return parse(document, Path("f"))  # type: ignore[arg-type]
    except ExperimentError as error:
        return error


def read(document: object) -> None:
    result = outcome(document)
    if isinstance(result, ExperimentFile):
        assert result.points
        return
    assert result.problems
    for line in result.problems:
        assert line.startswith("f:")
        assert "\n" not in line
        assert "pydantic" not in line
        assert "nput should" not in line


@given(st.text())
def test_any_text(text: str) -> None:
    read(text)


@given(st.text(alphabet="[]{}:,-&*!|>'\"%@`# \n\tab$.5<?~"))
def test_any_text_of_yaml_signs(text: str) -> None:
    read(text)


@given(st.binary())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(data)
    with pytest.raises(ExperimentError):
        load_experiment(path)


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), TREES, max_size=6))
def test_any_tree(tree: dict[str, object]) -> None:
    read(tree)
    read(yaml.safe_dump(tree, allow_unicode=True))


def paths(node: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(node, dict):
        for key, value in node.items():
            found += paths(value, (*path, key))
    elif isinstance(node, list):
        for position, value in enumerate(node):
            found += paths(value, (*path, position))
    return found


PATHS = paths(yaml.safe_load(FULL))
PATHS_LAN = paths(yaml.safe_load(FULL_LAN))


@given(st.lists(st.tuples(st.sampled_from(PATHS), TREES), min_size=1, max_size=3))
@settings(max_examples=300)
def test_a_good_file_with_some_values_exchanged(
    changes: list[tuple[tuple[str | int, ...], object]],
) -> None:
    read_changed(FULL, changes)


@given(st.lists(st.tuples(st.sampled_from(PATHS_LAN), TREES), min_size=1, max_size=3))
@settings(max_examples=300)
def test_a_good_file_for_the_lan_with_some_values_exchanged(
    changes: list[tuple[tuple[str | int, ...], object]],
) -> None:
    read_changed(FULL_LAN, changes)


def read_changed(text: str, changes: list[tuple[tuple[str | int, ...], object]]) -> None:
    tree = yaml.safe_load(text)
    for path, value in changes:
        node = tree
        try:
            for step in path[:-1]:
                node = node[step]
            node[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    read(tree)
    read(yaml.safe_dump(tree, allow_unicode=True))


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(FULL)),
            st.integers(0, 8),
            st.text(alphabet=string.printable + "é$&*", max_size=3),
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=300)
def test_a_good_file_with_some_letters_exchanged(edits: list[tuple[int, int, str]]) -> None:
    text = FULL
    for start, length, new in edits:
        text = text[:start] + new + text[start + length :]
    read(text)
