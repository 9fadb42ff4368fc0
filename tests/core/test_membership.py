"""What every membership is given: fair samples, checked parameters, no surprises."""

from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from msgspec import Meta

from agents.core.errors import LocalError
from agents.core.membership import Membership, Population
from agents.core.messages import PeerId, ScopedMessage, ScopedTimer
from agents.core.protocol import Parameters
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from tests.support.ports import ListCarrier, ListPort


class FixedParameters(Parameters, frozen=True):
    size: Annotated[int, Meta(ge=1)] = 3


class Fixed(Membership):
    """Knows the whole population from the beginning."""

    name = "fixed"
    Parameters = FixedParameters

    @property
    def members(self) -> Sequence[PeerId]:
        return self.population.peers

    def join(self) -> None:
        self.carrier.membership_ready()

    def leave(self) -> None: ...


def fixed(peers: Sequence[PeerId] = (), **parameters: Any) -> Fixed:
    topics = Topics()
    setting = Setting(topics, Directory(topics, {}), Fixed, membership_parameters=parameters)
    return Fixed(ListPort(), setting, ".", Population(peers, 3), ListCarrier())


@pytest.mark.parametrize("count", [0, 1, 5, 50, 60])
def test_a_sample_is_of_different_members_and_as_many_as_there_are_at_most(count: int) -> None:
    drawn = fixed(range(50)).sample(count)
    assert len(drawn) == len(set(drawn)) == min(count, 50)
    assert set(drawn) <= set(range(50))


def test_samples_come_from_the_peers_own_stream() -> None:
    first, second = fixed(range(50)), fixed(range(50))
    assert [first.sample(5) for _ in range(3)] == [second.sample(5) for _ in range(3)]
    assert first.sample(5) != first.sample(5)


def test_parameters_are_checked_when_it_is_made() -> None:
    assert fixed(size=7).parameters == FixedParameters(size=7)
    with pytest.raises(LocalError, match=r"parameters of FixedParameters: .* at `\$\.size`"):
        fixed(size=0)


def test_being_handed_what_it_never_sends_is_a_bug_of_ours() -> None:
    membership = fixed()
    with pytest.raises(AssertionError, match="fixed has no messages, yet was handed"):
        membership.on_message(1, ScopedMessage("."))
    with pytest.raises(AssertionError, match="fixed has no timers, yet was handed"):
        membership.on_timer(ScopedTimer("."))
