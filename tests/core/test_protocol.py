"""Parameters: checked, layered by topic, and changed only by what would be accepted anyway."""

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from msgspec import Meta

from agents.core.errors import LocalError
from agents.core.interest import Interest
from agents.core.membership import Membership
from agents.core.messages import Event, Message, PeerId, Timer
from agents.core.protocol import Parameters, Protocol, change_parameters, make_parameters
from agents.core.registry import memberships
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from tests.support.ports import ListPort
from tests.support.registered import LAYERS


class Knobs(Parameters, frozen=True):
    c: Annotated[float, Meta(ge=-5, le=5)] = 1.0
    z: Annotated[int, Meta(ge=1)] = 3
    few: Annotated[int, Meta(ge=0)] = 1

    def __post_init__(self) -> None:
        if self.few > self.z:
            raise ValueError(f"few must be at most z, and {self.few} > {self.z}")


class Still(Protocol):
    """Does nothing, in every way that there is."""

    name = "still"
    Parameters = Knobs
    messages = ()

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def subscribe(self, interest: Interest) -> None: ...

    def unsubscribe(self, interest: Interest) -> None: ...

    def publish(self, event: Event) -> None: ...

    def on_message(self, sender: PeerId, message: Message) -> None: ...

    def on_timer(self, timer: Timer) -> None: ...


def still(
    parameters: Mapping[str, Any] | None = None,
    topic_parameters: Mapping[str, Mapping[str, Any]] | None = None,
) -> Still:
    topics = Topics()
    setting = Setting(
        topics,
        Directory(topics, {}),
        memberships.load("static"),
        parameters=parameters or {},
        topic_parameters=topic_parameters or {},
    )
    return Still(ListPort(), setting)


def test_parameters_have_their_defaults_unless_given() -> None:
    assert make_parameters(Knobs, {}) == Knobs()
    assert make_parameters(Knobs, {"z": 9}) == Knobs(c=1.0, z=9, few=1)


def test_a_whole_number_is_a_number() -> None:
    assert make_parameters(Knobs, {"c": 2}).c == 2


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"q": 1}, "Object contains unknown field `q`"),
        ({"c": "x"}, r"Expected `float`, got `str` - at `\$\.c`"),
        ({"c": 5.1}, r"Expected `float` <= 5.0 - at `\$\.c`"),
        ({"c": float("nan")}, r"Expected `float` >= -5.0 - at `\$\.c`"),
        ({"z": 2.5}, r"Expected `int`, got `float` - at `\$\.z`"),
        ({"z": 0}, r"Expected `int` >= 1 - at `\$\.z`"),
        ({"z": True}, r"Expected `int`, got `bool` - at `\$\.z`"),
        ({"z": None}, r"Expected `int`, got `null` - at `\$\.z`"),
        ({"few": 4}, "few must be at most z, and 4 > 3"),
    ],
)
def test_a_bad_parameter_is_refused_by_name(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(LocalError, match=f"^parameters of Knobs: {complaint}"):
        make_parameters(Knobs, values)


def test_changes_leave_the_rest_and_the_original_as_they_were() -> None:
    before = Knobs(c=2.0, z=4)
    assert change_parameters(before, {"z": 8}) == Knobs(c=2.0, z=8)
    assert before == Knobs(c=2.0, z=4)


def test_changes_are_checked_together_with_the_rest() -> None:
    with pytest.raises(LocalError, match="few must be at most z, and 2 > 1"):
        change_parameters(Knobs(few=2), {"z": 1})


def test_a_topics_own_parameters_go_before_the_common_ones() -> None:
    protocol = still({"c": 2.0, "z": 5}, {".a": {"z": 7}})
    assert protocol.parameters_for("") == Knobs(c=2.0, z=5)
    assert protocol.parameters_for(".a") == Knobs(c=2.0, z=7)
    assert protocol.parameters_for(".b") == Knobs(c=2.0, z=5)


def test_without_further_ado_a_protocol_cannot_be_configured_and_shows_no_tables() -> None:
    protocol = still()
    with pytest.raises(LocalError, match="still has no parameters that can change while it runs"):
        protocol.configure(".a", {"z": 7})
    assert protocol.views() == {}


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_the_defaults_of_everything_registered_are_accepted(
    layer: type[Protocol] | type[Membership],
) -> None:
    defaults = make_parameters(layer.Parameters, {})
    assert change_parameters(defaults, {}) == defaults
