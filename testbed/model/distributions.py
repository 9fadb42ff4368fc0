"""How long something takes: for messages on their way, and for agents that come and go.

In a file each is a mapping of one key, which says the kind: `{uniform: [20ms, 70ms]}`.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from agents.core.draw import choice, exponential
from testbed.model.parts import Part
from testbed.model.units import Nanoseconds, format_duration

ROUNDS = "rounds"


def _ascending(bounds: tuple[int, int]) -> tuple[int, int]:
    low, high = bounds
    if low > high:
        raise ValueError(
            f"must go from the least to the greatest: "
            f"[{format_duration(high)}, {format_duration(low)}]"
        )
    return bounds


class Fixed(Part):
    """Always the same."""

    value: Nanoseconds = Field(alias="fixed")


ONE_ROUND = Fixed.model_validate({"fixed": "1s"})
"""A synchronous round counts as a second."""


class Uniform(Part):
    """Any duration from `low` to `high`, one as likely as another."""

    bounds: Annotated[tuple[Nanoseconds, Nanoseconds], AfterValidator(_ascending)] = Field(
        alias="uniform"
    )

    @property
    def low(self) -> int:
        return self.bounds[0]

    @property
    def high(self) -> int:
        return self.bounds[1]


class Exponential(Part):
    """Without memory, with this mean."""

    mean: Nanoseconds = Field(alias="exponential")


class Choice(Part):
    """One of these, one as likely as another."""

    values: Annotated[tuple[Nanoseconds, ...], Field(min_length=1)] = Field(alias="list")


KINDS = {"fixed": Fixed, "uniform": Uniform, "exponential": Exponential, "list": Choice}


def _kind(value: Any) -> str | None:
    """The tag of the one key that a file gives, or of a model's class."""
    if value == ROUNDS:
        return f"<{ROUNDS}>"
    if isinstance(value, dict):
        keys = [key for key in value if key in KINDS]
        return f"<{keys[0]}>" if len(keys) == 1 else None
    return next((f"<{name}>" for name, kind in KINDS.items() if isinstance(value, kind)), None)


# The brackets keep a tag from being mistaken for a key where an error is located.
_Any = (
    Annotated[Fixed, Tag("<fixed>")]
    | Annotated[Uniform, Tag("<uniform>")]
    | Annotated[Exponential, Tag("<exponential>")]
    | Annotated[Choice, Tag("<list>")]
)
_EXAMPLES = "{fixed: 1ms}, {uniform: [20ms, 70ms]}, {exponential: 50ms} or {list: [1ms, 2ms]}"

Distribution = Annotated[
    _Any,
    Discriminator(
        _kind, custom_error_type="distribution", custom_error_message=f"must be {_EXAMPLES}"
    ),
]
Latency = Annotated[
    _Any | Annotated[Literal["rounds"], Tag(f"<{ROUNDS}>")],
    Discriminator(
        _kind,
        custom_error_type="distribution",
        custom_error_message=f"must be {ROUNDS}, {_EXAMPLES}",
    ),
]


def typical(distribution: Fixed | Uniform | Exponential | Choice) -> int:
    """The least that it gives; of an exponential one, whose least is nothing, the mean."""
    match distribution:
        case Fixed(value=value):
            return value
        case Uniform():
            return distribution.low
        case Exponential(mean=mean):
            return mean
        case Choice(values=values):
            return min(values)


def is_always_zero(distribution: Fixed | Uniform | Exponential | Choice) -> bool:
    match distribution:
        case Uniform():
            return distribution.high == 0
        case Choice(values=values):
            return max(values) == 0
        case _:
            return typical(distribution) == 0


def drawing(
    distribution: Fixed | Uniform | Exponential | Choice, random: Callable[[], float]
) -> Callable[[], float]:
    """A function that draws the next duration, in nanoseconds."""
    match distribution:
        case Fixed(value=value):
            return lambda: value
        case Uniform(low=low, high=high):
            return lambda: low + (high - low) * random()
        case Exponential(mean=mean):
            return lambda: exponential(mean, random)
        case Choice(values=values):
            return lambda: choice(values, random)
