"""Static tables: drawn once, of the size asked for."""

from agents.core.membership import Population
from agents.core.registry import memberships
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.static import Static
from tests.support.ports import ListCarrier, ListPort


def static(peers: range, size: int, peer: int = 0, seed: int = 0) -> tuple[Static, ListCarrier]:
    topics, carrier = Topics(), ListCarrier()
    setting = Setting(topics, Directory(topics, {}), Static)
    return Static(ListPort(peer, seed), setting, "", Population(peers, size), carrier), carrier


def test_is_found_by_its_name() -> None:
    assert memberships.load("static") is Static


def test_knows_nobody_before_it_joins() -> None:
    membership, carrier = static(range(10), 3)

    assert (list(membership.members), carrier.ready) == ([], 0)


def test_joining_draws_a_table_of_the_size_and_is_ready_at_once() -> None:
    membership, carrier = static(range(10), 3)

    membership.join()

    assert len(set(membership.members)) == len(membership.members) == 3
    assert carrier.ready == 1


def test_nobody_is_in_its_own_table() -> None:
    for seed in range(50):
        membership, _ = static(range(4), 3, peer=2, seed=seed)
        membership.join()
        assert sorted(membership.members) == [0, 1, 3]


def test_a_table_larger_than_the_population_has_everybody_else() -> None:
    membership, _ = static(range(4), 100)

    membership.join()

    assert sorted(membership.members) == [1, 2, 3]


def test_a_single_peer_has_an_empty_table_and_is_ready() -> None:
    membership, carrier = static(range(1), 5)

    membership.join()

    assert (list(membership.members), carrier.ready) == ([], 1)


def test_the_same_seed_gives_the_same_table_and_another_peer_another() -> None:
    tables = []
    for peer, seed in [(0, 1), (0, 1), (1, 1), (0, 2)]:
        membership, _ = static(range(1000), 10, peer, seed)
        membership.join()
        tables.append(list(membership.members))

    assert tables[0] == tables[1]
    assert tables[0] not in tables[2:]


def test_the_table_does_not_change_while_it_is_sampled() -> None:
    membership, _ = static(range(100), 10)
    membership.join()
    before = list(membership.members)

    drawn = membership.sample(4)

    assert len(set(drawn)) == 4
    assert set(drawn) <= set(before)
    assert list(membership.members) == before


def test_a_larger_table_keeps_whom_it_has_and_draws_whom_it_lacks() -> None:
    membership, _ = static(range(100), 10)
    membership.join()
    before = list(membership.members)

    membership.resize(30)

    assert list(membership.members)[:10] == before
    assert len(set(membership.members) - {0}) == 30


def test_a_smaller_table_keeps_as_many_as_it_has_room_for() -> None:
    membership, _ = static(range(100), 10)
    membership.join()
    before = list(membership.members)

    membership.resize(4)

    assert list(membership.members) == before[:4]


def test_a_table_of_nobody_can_grow_and_one_that_was_left_stays_empty() -> None:
    membership, _ = static(range(100), 0)
    membership.resize(5)
    assert list(membership.members) == []

    membership.join()
    membership.resize(7)
    assert len(membership.members) == 7

    membership.leave()
    membership.resize(9)
    assert list(membership.members) == []


def test_leaving_empties_the_table_and_joining_again_fills_it() -> None:
    membership, carrier = static(range(10), 3)
    membership.join()
    membership.leave()
    assert list(membership.members) == []

    membership.join()

    assert (len(membership.members), carrier.ready) == (3, 2)
