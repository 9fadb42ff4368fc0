"""The hierarchy: what includes what, whatever is added, and what is refused."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agents.core.errors import LocalError, TopicError
from agents.core.messages import MAX_TOPIC_NAME
from agents.core.topics import Topics, check_name, parent_by_name
from tests.support.properties import steady


def soccer() -> Topics:
    """The papers' example, with a topic of two parents."""
    topics = Topics()
    for topic in (".soccer", ".news", ".soccer.italy", ".news.italy"):
        topics.add(topic)
    topics.add(".soccer.italy.results", [".news.italy"])
    return topics


def relations(topics: Topics) -> dict[str, tuple[tuple[str, ...], tuple[str, ...], int]]:
    """All that can be asked of each topic, in the topics' order."""
    return {
        topic: (topics.supers(topic), topics.ancestors(topic), topics.level(topic))
        for topic in topics
    }


# Names


@pytest.mark.parametrize("name", [".", ".a", ".soccer.italy", ".A-1.b_2", ".0", "." + "x" * 254])
def test_a_good_name_is_given_back(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "a", "a.b", "..", "..a", ".a.", ".a..b", ".a b", ".a/b", ".ä", ".a\n", " .a", ".a.*"],
)
def test_a_bad_name_is_refused_with_the_name_in_the_message(name: str) -> None:
    with pytest.raises(TopicError) as caught:
        check_name(name)
    assert str(caught.value).startswith(f"{name!r} is no topic name: write '.' for the root")


def test_a_name_that_other_peers_would_refuse_is_refused_here() -> None:
    name = "." + "x" * MAX_TOPIC_NAME
    with pytest.raises(TopicError, match="has 256 characters, over the 255 allowed"):
        check_name(name)


def test_a_topic_error_is_our_own_fault() -> None:
    assert issubclass(TopicError, LocalError)


@pytest.mark.parametrize(
    ("name", "parent"),
    [(".", "."), (".a", "."), (".a.b", ".a"), (".soccer.italy.results", ".soccer.italy")],
)
def test_a_name_says_its_parent(name: str, parent: str) -> None:
    assert parent_by_name(name) == parent


# Relations


def test_a_new_hierarchy_is_its_root_alone() -> None:
    topics = Topics()
    assert list(topics) == ["."]
    assert len(topics) == 1
    assert topics.supers(".") == ()
    assert topics.ancestors(".") == ()
    assert topics.level(".") == 0
    assert topics.depth == 0


def test_topics_are_listed_in_the_order_in_which_they_were_added() -> None:
    topics = Topics()
    topics.add(".b")
    topics.add(".a")
    topics.add(".b.c")
    assert list(topics) == [".", ".b", ".a", ".b.c"]


@pytest.mark.parametrize(
    ("upper", "lower", "included"),
    [
        (".", ".", True),
        (".", ".soccer.italy.results", True),
        (".soccer", ".soccer.italy", True),
        (".soccer.italy", ".soccer", False),
        (".soccer", ".news", False),
        (".news", ".soccer.italy.results", True),
        (".news.italy", ".soccer.italy.results", True),
        (".news.italy", ".soccer.italy", False),
    ],
)
def test_a_topic_includes_itself_and_all_below_it(upper: str, lower: str, included: bool) -> None:
    assert soccer().includes(upper, lower) is included


def test_the_parent_by_name_is_the_first_super_topic() -> None:
    assert soccer().supers(".soccer.italy.results") == (".soccer.italy", ".news.italy")


def test_ancestors_come_nearest_first_and_once() -> None:
    assert soccer().ancestors(".soccer.italy.results") == (
        ".soccer.italy",
        ".news.italy",
        ".soccer",
        ".news",
        ".",
    )


def test_a_level_is_the_longest_path_from_the_root() -> None:
    topics = soccer()
    assert topics.level(".news") == 1
    assert topics.depth == 3
    topics.add_parent(".news", ".soccer.italy")
    assert topics.level(".news") == 3
    assert topics.level(".soccer.italy.results") == 5
    assert topics.depth == 5


def test_a_parent_that_is_added_later_counts_from_then_on() -> None:
    topics = soccer()
    assert not topics.includes(".news", ".soccer.italy")
    topics.add_parent(".soccer.italy", ".news")
    assert topics.includes(".news", ".soccer.italy")
    assert topics.supers(".soccer.italy") == (".soccer", ".news")


def test_a_parent_that_is_there_already_changes_nothing() -> None:
    topics = soccer()
    before = relations(topics)
    topics.add_parent(".soccer.italy", ".soccer")
    assert relations(topics) == before


def test_a_path_is_added_with_all_that_is_missing_above_it() -> None:
    topics = Topics()
    topics.add(".a")
    assert topics.add_path(".a.b.c") == ".a.b.c"
    assert list(topics) == [".", ".a", ".a.b", ".a.b.c"]


@pytest.mark.parametrize("topic", [".", ".soccer", ".soccer.italy.results"])
def test_a_path_that_is_there_is_left_as_it_is(topic: str) -> None:
    topics = soccer()
    before = relations(topics)
    assert topics.add_path(topic) == topic
    assert relations(topics) == before


def test_a_chain_that_is_longer_than_the_stack_still_has_levels() -> None:
    topics = Topics()
    for number in range(3000):
        topics.add(f".t{number}", [f".t{number - 1}"] if number else [])
    assert topics.level(".t2999") == 3000
    assert topics.includes(".t0", ".t2999")


# Another root


def test_another_root_has_all_under_it() -> None:
    topics = Topics(".a")
    topics.add(".a.b")
    topics.add_path(".a.c.d")
    assert list(topics) == [".a", ".a.b", ".a.c", ".a.c.d"]
    assert topics.level(".a.c.d") == 2
    assert topics.ancestors(".a.c.d") == (".a.c", ".a")


@pytest.mark.parametrize("topic", [".", ".b", ".ab", ".ab.c", ".a-b", ".b.a"])
def test_what_does_not_lie_under_the_root_is_refused(topic: str) -> None:
    topics = Topics(".a")
    for add in (topics.add, topics.add_path):
        with pytest.raises(TopicError) as caught:
            add(topic)
        assert str(caught.value) == f"topic {topic!r} does not lie under the root '.a'"
    assert list(topics) == [".a"]


def test_a_root_with_a_bad_name_is_refused() -> None:
    with pytest.raises(TopicError, match="'a' is no topic name"):
        Topics("a")


# Refusals


@pytest.mark.parametrize(
    ("topic", "parents", "message"),
    [
        (".soccer", [], "topic '.soccer' is there already"),
        (".", [], "topic '.' is there already"),
        (".x.y", [], "topic '.x.y' has an unknown parent '.x': add that first"),
        (".x", [".y"], "topic '.x' has an unknown parent '.y': add that first"),
        (".x", [".soccer", "soccer"], "topic '.x' has an unknown parent 'soccer': add that first"),
        (".x", [".x"], "topic '.x' cannot be its own parent"),
    ],
)
def test_a_refused_topic_is_named_and_leaves_the_hierarchy_alone(
    topic: str, parents: list[str], message: str
) -> None:
    topics = soccer()
    before = relations(topics)
    with pytest.raises(TopicError) as caught:
        topics.add(topic, parents)
    assert str(caught.value) == message
    assert relations(topics) == before


@pytest.mark.parametrize(
    ("topic", "parent", "message"),
    [
        (".x", ".soccer", "topic '.x' is not known; known are ., .soccer, .news, "),
        (".soccer", ".x", "topic '.soccer' has an unknown parent '.x': add that first"),
        (".soccer", ".soccer", "topic '.soccer' cannot be a parent of '.soccer', which includes"),
        (".news", ".soccer.italy.results", "topic '.soccer.italy.results' cannot be a parent of"),
        (".", ".soccer", "topic '.soccer' cannot be a parent of '.', which includes it: a cycle"),
    ],
)
def test_a_refused_parent_is_named_and_leaves_the_hierarchy_alone(
    topic: str, parent: str, message: str
) -> None:
    topics = soccer()
    before = relations(topics)
    with pytest.raises(TopicError) as caught:
        topics.add_parent(topic, parent)
    assert str(caught.value).startswith(message)
    assert relations(topics) == before


@pytest.mark.parametrize("topic", ["bad", ".a.", ".a..b"])
def test_a_path_with_a_bad_name_leaves_the_hierarchy_alone(topic: str) -> None:
    topics = soccer()
    before = relations(topics)
    with pytest.raises(TopicError):
        topics.add_path(topic)
    assert relations(topics) == before


def test_what_is_asked_of_an_unknown_topic_is_refused() -> None:
    topics = soccer()
    for ask in (topics.require, topics.supers, topics.ancestors, topics.level):
        with pytest.raises(TopicError, match=r"topic '\.x' is not known"):
            ask(".x")


# Any hierarchy

PARTS = st.sampled_from("abcd")
ADDITIONS = st.lists(st.tuples(PARTS, st.integers(0, 99), st.lists(st.integers(0, 99), max_size=3)))
"""For each topic: the last part of its name, and which of the topics so far are its parents."""
PAIRS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=10)


def at(topics: Topics, number: int) -> str:
    everything = list(topics)
    return everything[number % len(everything)]


def grow(topics: Topics, additions: list[tuple[str, int, list[int]]]) -> None:
    for part, under, others in additions:
        name = f"{at(topics, under).rstrip('.')}.{part}"
        if name not in topics:
            topics.add(name, [at(topics, other) for other in others])


def tie(topics: Topics, pairs: list[tuple[int, int]]) -> None:
    """More parents for topics that are there, as far as they make no cycle."""
    for lower, upper in pairs:
        topic, parent = at(topics, lower), at(topics, upper)
        if not topics.includes(topic, parent):
            topics.add_parent(topic, parent)


@st.composite
def hierarchies(draw: st.DrawFn) -> Topics:
    topics = Topics(draw(st.sampled_from([".", ".a", ".a.b"])))
    grow(topics, draw(ADDITIONS))
    tie(topics, draw(PAIRS))
    return topics


@steady
@given(hierarchies())
def test_inclusion_is_a_partial_order(topics: Topics) -> None:
    below = {upper: {low for low in topics if topics.includes(upper, low)} for upper in topics}
    for upper, lowers in below.items():
        assert upper in lowers
        for lower in lowers:
            assert below[lower] <= lowers
            assert lower == upper or upper not in below[lower]


@steady
@given(hierarchies())
def test_the_root_includes_all(topics: Topics) -> None:
    assert all(topics.includes(topics.root, topic) for topic in topics)


@steady
@given(hierarchies())
def test_a_super_topic_has_a_lower_level(topics: Topics) -> None:
    for topic in topics:
        levels = [topics.level(up) for up in topics.supers(topic)]
        assert topics.level(topic) == (1 + max(levels) if levels else 0)
    assert topics.depth == max(topics.level(topic) for topic in topics)


@steady
@given(hierarchies())
def test_ancestors_are_the_supers_and_theirs(topics: Topics) -> None:
    for topic in topics:
        ancestors = topics.ancestors(topic)
        expected = set(topics.supers(topic))
        for up in topics.supers(topic):
            expected.update(topics.ancestors(up))
        assert set(ancestors) == expected
        assert len(ancestors) == len(expected)
        assert ancestors[: len(topics.supers(topic))] == topics.supers(topic)


@steady
@given(hierarchies(), ADDITIONS)
def test_adding_topics_never_changes_what_is_there(
    topics: Topics, additions: list[tuple[str, int, list[int]]]
) -> None:
    before = relations(topics)
    grow(topics, additions)
    after = relations(topics)
    assert {topic: after[topic] for topic in before} == before


@steady
@given(hierarchies(), st.integers(0, 99), st.integers(0, 99))
def test_a_cycle_is_always_refused_and_changes_nothing(
    topics: Topics, lower: int, upper: int
) -> None:
    topic, parent = at(topics, lower), at(topics, upper)
    if not topics.includes(topic, parent):
        topic, parent = topics.root, topic
    before = relations(topics)
    with pytest.raises(TopicError, match="a cycle"):
        topics.add_parent(topic, parent)
    assert relations(topics) == before


@steady
@given(hierarchies(), st.text(alphabet=".ab\n -", max_size=6))
def test_whatever_the_name_it_is_added_under_the_root_or_refused(topics: Topics, name: str) -> None:
    before = relations(topics)
    complaint = ""
    try:
        topics.add_path(name)
    except TopicError as error:
        complaint = str(error)
    if complaint:
        assert repr(name) in complaint
        assert relations(topics) == before
    else:
        assert topics.includes(topics.root, name)
