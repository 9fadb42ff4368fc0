"""Nodes: what scalars mean, where they stand, and what is refused before anything recurses."""

import pytest

from testbed.model.yaml_nodes import (
    MAX_DEPTH,
    Mark,
    YamlError,
    data_of,
    locate,
    node_of,
    read_yaml,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("false", False),
        ("'true'", "true"),
        ("null", None),
        ("", None),
        ("10", 10),
        ("-3", -3),
        ("010", 10),
        ("1_000", 1000),
        ("1e-3", 0.001),
        (".5", 0.5),
        ("'.5'", ".5"),
        ("1.", 1.0),
        ("12:30", "12:30"),
        ("0x1f", "0x1f"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("2001-12-14", "2001-12-14"),
        ("1000-100-10", "1000-100-10"),
    ],
)
def test_a_plain_scalar_means_what_yaml_1_2_says(text: str, value: object) -> None:
    root = read_yaml(f"a: {text}").root
    assert root is not None
    result = data_of(root)["a"]
    assert result == value
    assert type(result) is type(value)


def test_a_key_is_always_text() -> None:
    root = read_yaml("{.5: 1, no: 2, 7: 3, ~: 4, true: 5}").root
    assert root is not None
    assert data_of(root) == {".5": 1, "no": 2, "7": 3, "~": 4, "true": 5}


def test_every_field_knows_its_place() -> None:
    root = read_yaml("a:\n  - {b: 1,\n     c: é}\n").root
    assert root is not None
    assert locate(root, ("a", 0, "c"), at_key=False).mark == Mark(3, 9)
    assert locate(root, ("a", 0, "c"), at_key=True).mark == Mark(3, 6)


def test_a_field_that_is_not_there_is_placed_at_what_is_around_it() -> None:
    root = read_yaml("a:\n  - {b: 1}\n").root
    assert root is not None
    assert locate(root, ("a", 0, "x"), at_key=False).mark == Mark(2, 5)
    assert locate(root, ("a", 7), at_key=False).mark == Mark(2, 3)
    assert locate(root, ("x", "y"), at_key=False).mark == Mark(1, 1)


def test_a_field_inside_a_scalar_is_the_scalar() -> None:
    root = read_yaml("protocol: x").root
    assert root is not None
    assert locate(root, ("protocol", "name"), at_key=False).path == ("protocol",)


@pytest.mark.parametrize(
    ("text", "message", "mark"),
    [
        (
            "a: [1, 2\n",
            "not YAML: did not find expected ',' or ']' (while parsing a flow sequence)",
            (1, 9),
        ),
        ("a:\n\t- b", "not YAML: there is a tab: indent with spaces", (2, 1)),
        ("a: b: c", "not YAML: mapping values are not allowed in this context", (1, 5)),
        ("a: \x07", "not YAML: the character U+0007 is not text", (1, 4)),
        ("a\nb: \x00", "not YAML: the character U+0000 is not text", (2, 4)),
        ("a: 1\n---\nb: 2", "a second document begins here: a file has one", (2, 1)),
        ("[" * 40 + "]" * 40, f"nested more than {MAX_DEPTH} levels deep", (1, 34)),
        ("[" * 100_000, f"nested more than {MAX_DEPTH} levels deep", (1, 34)),
    ],
)
def test_what_cannot_be_read_is_one_sentence_with_its_place(
    text: str, message: str, mark: tuple[int, int]
) -> None:
    with pytest.raises(YamlError) as caught:
        read_yaml(text)
    assert caught.value.message == message
    assert caught.value.mark == mark


@pytest.mark.parametrize(
    ("text", "path", "message", "mark"),
    [
        ("a: 1\na: 2", ("a",), "is there twice, first in line 1: remove one", (2, 1)),
        ("a: {b: 1, b: 2}", ("a", "b"), "is there twice, first in line 1: remove one", (1, 11)),
        ("a: &x 1", ("a",), "write the value out (or quote it) instead of &anchors", (1, 4)),
        ("a: *x", ("a",), "write the value out (or quote it) instead of *anchors", (1, 4)),
        ("a: !b 1", ("a",), "remove the tag !b, or quote the text", (1, 4)),
        (
            "a: !!python/name:os.system 1",
            ("a",),
            "remove the tag tag:yaml.org,2002:python/name:os.system, or quote the text",
            (1, 4),
        ),
        ("{[a]: 1}", (), "a key must be text, not a list, a mapping or an alias", (1, 2)),
        ("a: 1e999", ("a",), "1e999 is too large or too long a number", (1, 4)),
    ],
)
def test_what_can_be_stepped_over_is_told_together(
    text: str, path: tuple[str, ...], message: str, mark: tuple[int, int]
) -> None:
    assert read_yaml(text).problems == [(path, message, mark)]


def test_an_alias_bomb_does_not_go_off() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    assert len(read_yaml("\n".join(lines)).problems) == 40 + 2 * 39


def test_data_become_nodes_and_data_again() -> None:
    data = {"a": [1, 2.5, "x", None, True], "b": {"c": []}}
    assert data_of(node_of(data)) == data


def test_a_text_of_nothing_has_no_root() -> None:
    assert read_yaml("# only a comment\n").root is None
    assert read_yaml("").root is None
