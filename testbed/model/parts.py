"""What the models are made of: their common base, and the types of single fields."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agents.core.errors import TopicError
from agents.core.topics import check_name

MAX_AGENTS = 1_000_000
MAX_ITEMS = 10_000
"""Ours: of the lists in which each item is a mapping."""
MAX_TOPIC = 255
"""As long as a topic's name can be on the wire (`agents.core.messages.TopicName`)."""


class Part(BaseModel):
    """A mapping in an experiment file. What it does not know, it refuses.

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


TopicName = Annotated[str, Field(strict=True), AfterValidator(checked_topic)]
Probability = Annotated[float, Field(strict=True, ge=0, le=1)]
AgentNumber = Annotated[int, Field(strict=True, ge=0, lt=MAX_AGENTS)]
Amount = Annotated[int, Field(strict=True, ge=0, le=MAX_AGENTS)]
TopicList = Annotated[tuple[TopicName, ...], Field(min_length=1)]
