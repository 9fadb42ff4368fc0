"""What the models are made of: their common base, and the types of single fields."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agents.core.errors import TopicError
from agents.core.topics import check_name
from testbed.model.errors import described

MAX_AGENTS = 1_000_000
MAX_ITEMS = 10_000
"""Ours: of the lists in which each item is a mapping."""
MAX_TOPIC = 255
"""As long as a topic's name can be on the wire (`agents.core.messages.TopicName`)."""

_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class Part(BaseModel):
    """A mapping in an experiment's or a topology's file. What it does not know, it refuses.

    A field whose key is a word of Python's has an underscore behind its name: `from_` is `from` in
    the file.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        serialize_by_alias=True,
        validate_by_alias=True,
        validate_by_name=True,
    )

    @classmethod
    def read(cls, data: Any) -> Self:
        """From a file's data, which knows a field only by its key there."""
        return cls.model_validate(data, by_alias=True, by_name=False)


def checked_topic(name: str) -> str:
    if len(name) > MAX_TOPIC:
        raise ValueError(f"a topic's name has at most {MAX_TOPIC} characters, this has {len(name)}")
    try:
        return check_name(name)
    except TopicError as error:
        raise ValueError(str(error)) from None


def _name(name: str) -> str:
    if not name or len(name) > 100 or not _NAME_LETTERS.issuperset(name):
        raise ValueError(
            f"must be 1 to 100 of the letters a-z, digits and '-', is {described(name)}"
        )
    return name


def _title(title: str) -> str:
    if len(title) > 200 or not title.isprintable():
        raise ValueError("must be one line of at most 200 characters")
    return title


Name = Annotated[str, Field(strict=True), AfterValidator(_name)]
Title = Annotated[str, Field(strict=True), AfterValidator(_title)]
TopicName = Annotated[str, Field(strict=True), AfterValidator(checked_topic)]
Probability = Annotated[float, Field(strict=True, ge=0, le=1)]
AgentNumber = Annotated[int, Field(strict=True, ge=0, lt=MAX_AGENTS)]
Amount = Annotated[int, Field(strict=True, ge=0, le=MAX_AGENTS)]
TopicList = Annotated[tuple[TopicName, ...], Field(min_length=1)]
