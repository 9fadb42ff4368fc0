"""The directory: who is in which community, and whom a topic's events interest."""

import pytest

from agents.core.errors import TopicError
from agents.core.setting import Directory
from agents.core.topics import Topics


def directory() -> tuple[Topics, Directory]:
    topics = Topics()
    for topic in (".a", ".b", ".a.c", ".a.d"):
        topics.add(topic)
    communities = {".": [9], ".a": [3, 1], ".a.c": [5, 3], ".b": [2]}
    return topics, Directory(topics, communities)


def test_everyone_is_listed_once_and_in_order() -> None:
    assert directory()[1].everyone == (1, 2, 3, 5, 9)


@pytest.mark.parametrize(
    ("topic", "peers"), [(".a", [3, 1]), (".a.c", [5, 3]), (".a.d", []), (".unheard-of", [])]
)
def test_a_community_is_who_named_that_very_topic(topic: str, peers: list[int]) -> None:
    assert list(directory()[1].community(topic)) == peers


@pytest.mark.parametrize(
    ("topic", "peers"),
    [
        (".", [9]),
        (".a", [1, 3, 9]),
        (".a.c", [1, 3, 5, 9]),
        (".a.d", [1, 3, 9]),
        (".b", [2, 9]),
    ],
)
def test_an_audience_is_all_whose_topics_include_it(topic: str, peers: list[int]) -> None:
    assert list(directory()[1].audience(topic)) == peers


def test_an_audience_is_worked_out_once() -> None:
    _, known = directory()
    assert known.audience(".a.c") is known.audience(".a.c")


def test_an_audience_grows_with_a_topics_parents() -> None:
    topics, known = directory()
    assert list(known.audience(".a.c")) == [1, 3, 5, 9]
    topics.add_parent(".a.c", ".b")
    assert list(known.audience(".a.c")) == [1, 2, 3, 5, 9]


def test_a_topic_that_is_added_later_has_an_audience() -> None:
    topics, known = directory()
    topics.add(".b.e")
    assert list(known.audience(".b.e")) == [2, 9]


def test_an_unknown_topic_has_no_audience() -> None:
    with pytest.raises(TopicError, match=r"topic '\.x' is not known"):
        directory()[1].audience(".x")
