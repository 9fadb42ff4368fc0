"""Which community a record is about, and who is said to come and to go."""

import pytest

from agents.core.homes import Attendance, Homes
from agents.core.interest import Interest, Topic
from agents.core.topics import Topics


class Somebody:
    """One agent, number 0, whose interests can change."""

    kind_of = (0,)

    def __init__(self, *names: str) -> None:
        self.kinds: list[tuple[Interest, ...]] = []
        self.want(*names)

    def want(self, *names: str) -> None:
        self.kinds.append(tuple(map(Topic, names)))
        self.kind_of = (len(self.kinds) - 1,)


def topics() -> Topics:
    hierarchy = Topics()
    for name in (".a.b.c", ".a.d", ".e"):
        hierarchy.add_path(name)
    return hierarchy


def homes(*names: str) -> Homes:
    return Homes(Somebody(*names), topics())


def attendance(*names: str) -> Attendance:
    return Attendance(homes(*names))


@pytest.mark.parametrize(
    ("mine", "topic", "home", "interested"),
    [
        ((".a", ".e"), ".a", ".a", True),
        ((".a", ".e"), ".a.b.c", ".a", True),
        ((".a", ".e"), ".e", ".e", True),
        ((".a.b", ".e"), ".a", ".a.b", False),
        ((), ".a", "", False),
        ((".a",), ".unheard-of", ".a", False),
    ],
)
def test_home_is_the_first_topic_of_ones_own_that_includes_it_or_else_the_first(
    mine: tuple[str, ...], topic: str, home: str, interested: bool
) -> None:
    assert homes(*mine).of(0, topic) == (home, interested)


@pytest.mark.parametrize(
    ("mine", "group", "communities"),
    [
        ((".a", ".e"), "", (".a", ".e")),
        ((), "", ("",)),
        ((".a",), ".a.b", (".a",)),
        ((".a", ".a.b"), ".a.b", (".a.b",)),
        ((".a", ".a.b"), ".a.b.c", (".a",)),
        ((".a.b",), ".a", (".a",)),
    ],
    ids=["no groups", "nobody", "below", "own", "below two", "above"],
)
def test_a_group_makes_one_take_part_at_home(
    mine: tuple[str, ...], group: str, communities: tuple[str, ...]
) -> None:
    assert homes(*mine).taking_part(0, group) == communities


def test_one_comes_with_the_first_group_of_a_community_and_goes_with_the_last() -> None:
    book = attendance(".a")

    assert [book.joined(0, group) for group in (".a.b", ".a", ".a.d")] == [[".a"], [], []]
    assert [book.left(0, group) for group in (".a", ".a.b", ".a.d")] == [[], [], [".a"]]


def test_who_joins_a_group_twice_leaves_it_once() -> None:
    book = attendance(".a")

    assert [book.joined(0, ".a"), book.joined(0, ".a")] == [[".a"], []]
    assert [book.left(0, ".a"), book.left(0, ".a")] == [[".a"], []]


def test_who_left_what_it_never_joined_was_nowhere() -> None:
    assert attendance(".a").left(0, ".a") == []


def test_who_loses_an_interest_leaves_the_community_that_it_joined() -> None:
    somebody = Somebody(".a", ".e")
    book = Attendance(Homes(somebody, topics()))
    for group in (".a", ".a.b", ".e"):
        book.joined(0, group)

    somebody.want(".e")

    assert [book.left(0, group) for group in (".a.b", ".a")] == [[], [".a"]]
    assert book.left(0, ".e") == [".e"]


def test_who_keeps_a_narrower_interest_stays_in_that_community_alone() -> None:
    somebody = Somebody(".a", ".a.b")
    book = Attendance(Homes(somebody, topics()))
    joined = [book.joined(0, group) for group in (".a", ".a.b", ".a.b.c", ".a.d")]
    assert joined == [[".a"], [".a.b"], [], []]

    somebody.want(".a.b")

    assert [book.left(0, group) for group in (".a", ".a.d")] == [[".a"], []]
    assert [book.left(0, group) for group in (".a.b", ".a.b.c")] == [[], [".a.b"]]


def test_who_crashed_comes_anew() -> None:
    book = attendance(".a")
    book.joined(0, ".a")
    book.joined(0, ".a.b")

    book.crashed(0)

    assert book.left(0, ".a.b") == []
    assert book.joined(0, ".a.b") == [".a"]
