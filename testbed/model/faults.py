"""What can go wrong on purpose: one model for each `kind` in a file's list of faults."""

from collections.abc import Mapping
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    model_validator,
)

from testbed.model.distributions import Distribution
from testbed.model.errors import listing
from testbed.model.lan_parts import MAX_HOSTS, Link
from testbed.model.parts import AgentNumber, Amount, Part, Probability, TopicList, TopicName
from testbed.model.rates import format_rate, parse_rate
from testbed.model.units import Nanoseconds, format_duration


def _once_each(names: tuple[str, ...]) -> tuple[str, ...]:
    for position, name in enumerate(names):
        if name in names[:position]:
            raise ValueError(f"names {name} twice")
    return names


def _parse_changed_rate(value: object) -> int | str:
    return UNLIMITED if value == UNLIMITED else parse_rate(value)


def _format_changed_rate(rate: int | str) -> str:
    return format_rate(rate) if isinstance(rate, int) else rate


UNLIMITED = "unlimited"
_ChangedRate = Annotated[
    int | str,
    BeforeValidator(_parse_changed_rate),
    PlainSerializer(_format_changed_rate, return_type=str, when_used="json"),
]
HostNames = Annotated[
    tuple[Annotated[str, Field(strict=True)], ...],
    Field(min_length=1, max_length=MAX_HOSTS),
    AfterValidator(_once_each),
]


class Chosen(Part):
    """Which agents a fault is about."""

    must_choose: ClassVar[bool] = True

    fraction: Probability | None = None
    """So much of the agents, drawn at random."""
    count: Amount | None = None
    """So many of them."""
    agents: Annotated[tuple[AgentNumber, ...], Field(min_length=1)] | None = None
    """These very ones."""
    communities: TopicList | None = None
    """Whom `fraction` and `count` are drawn from; `None` for everybody who is in one."""

    @model_validator(mode="after")
    def _one_way_to_choose(self) -> Self:
        ways = [way for way in ("fraction", "count", "agents") if getattr(self, way) is not None]
        if len(ways) > 1 or (self.must_choose and not ways):
            given = f"has {' and '.join(ways)}" if ways else "has none of them"
            raise ValueError(f"needs exactly one of fraction, count and agents, {given}")
        if self.agents is not None:
            if self.communities is not None:
                raise ValueError("has agents, which says who: leave out communities")
            if len(set(self.agents)) < len(self.agents):
                raise ValueError("names an agent twice in agents")
        return self


class Stillborn(Chosen):
    """Down from the beginning to the end."""

    kind: Literal["stillborn"]


class WeaklyConsistent(Part):
    """Each sender takes each other agent for crashed with this probability."""

    kind: Literal["weakly-consistent"]
    fraction: Probability


class Crash(Chosen):
    """Down at a time, and up again after `for_` if that is given."""

    kind: Literal["crash"]
    at: Nanoseconds
    for_: Nanoseconds | None = Field(default=None, alias="for")

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        if self.for_ == 0:
            raise ValueError("must stay down for some time: for must be more than 0s")
        return self


class Freeze(Chosen):
    """Stopped for a while with all that it knows (SIGSTOP): what comes in the meantime waits, and
    so do its timers. Who is down then is left alone."""

    kind: Literal["freeze"]
    at: Nanoseconds
    for_: Nanoseconds = Field(alias="for")

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        if self.for_ == 0:
            raise ValueError("must stay frozen for some time: for must be more than 0s")
        return self


class CrashHost(Part):
    """Whole machines of the topology go down at a time, with every agent on them, and come up again
    after `for_` if that is given."""

    kind: Literal["crash-host"]
    at: Nanoseconds
    for_: Nanoseconds | None = Field(default=None, alias="for")
    count: Annotated[int, Field(strict=True, ge=1, le=MAX_HOSTS)] | None = None
    """So many, drawn at random."""
    hosts: HostNames | None = None
    """These very ones."""

    @model_validator(mode="after")
    def _chooses_and_takes_time(self) -> Self:
        if (self.count is None) == (self.hosts is None):
            has = "none of them" if self.count is None else "both"
            raise ValueError(f"needs exactly one of count and hosts, has {has}")
        if self.for_ == 0:
            raise ValueError("must stay down for some time: for must be more than 0s")
        return self


class LinkChange(Part):
    """From now on the links of these hosts are otherwise, in what is said; the rest stays."""

    kind: Literal["link"]
    at: Nanoseconds
    hosts: HostNames | None = None
    groups: HostNames | None = None
    """Groups of hosts of the topology. Without `hosts` and `groups`: every host."""
    rate: _ChangedRate | None = None
    loss: Probability | None = None
    delay: Nanoseconds | None = None
    jitter: Nanoseconds | None = None
    reorder: Probability | None = None
    duplicate: Probability | None = None
    corrupt: Probability | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.hosts is not None and self.groups is not None:
            raise ValueError("has hosts and groups: leave out one of them")
        if not self._changes():
            raise ValueError(f"changes nothing: give at least one of {listing(Link.model_fields)}")
        return self

    def _changes(self) -> dict[str, Any]:
        return {
            name: value for name in Link.model_fields if (value := getattr(self, name)) is not None
        }

    def applied(self, link: Link) -> Link:
        """The link with the changes; a `ValidationError` where they do not fit it."""
        changes = self._changes()
        if changes.get("rate") == UNLIMITED:
            changes["rate"] = None
        written = link.model_copy(update=changes).model_dump(mode="json")
        return Link.model_validate(written)


class Restart(Chosen):
    """Up again, with nothing remembered; if nobody is chosen, all that are down, or all of the
    communities."""

    must_choose = False

    kind: Literal["restart"]
    at: Nanoseconds


class Partition(Part):
    """No message passes between agents of different groups; others are not concerned. The next
    partition takes the place of one without an end."""

    kind: Literal["partition"]
    at: Nanoseconds
    until: Nanoseconds | None = None
    groups: tuple[TopicList, ...]

    @model_validator(mode="after")
    def _separates(self) -> Self:
        if len(self.groups) < 2:
            raise ValueError("needs at least two groups: between them no message passes")
        topics: set[str] = set()
        for topic in chain.from_iterable(self.groups):
            if topic in topics:
                raise ValueError(f"has {topic} twice in groups: a community can be in one only")
            topics.add(topic)
        _after(self.at, "at", self.until)
        return self


class Loss(Part):
    """From now on so many messages are lost: all over, or between two communities."""

    kind: Literal["loss"]
    at: Nanoseconds
    loss: Probability
    from_: TopicName | None = Field(default=None, alias="from")
    to: TopicName | None = None

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.from_ is None) != (self.to is None):
            raise ValueError("needs both of from and to, or neither")
        return self


class Configure(Part):
    """Change the protocol's parameters for one topic while it runs."""

    kind: Literal["configure"]
    at: Nanoseconds
    topic: TopicName
    parameters: Annotated[Mapping[str, Any], Field(min_length=1)]


class Churn(Part):
    """Agents come and go: up for `on`, then down for `off`, over and over."""

    kind: Literal["churn"]
    from_: Nanoseconds = Field(default=0, alias="from")
    until: Nanoseconds
    on: Distribution
    off: Distribution
    communities: TopicList | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        _after(self.from_, "from", self.until)
        return self


def _after(start: int, name: str, until: int | None) -> None:
    if until is not None and until <= start:
        raise ValueError(
            f"must end after it begins: until is {format_duration(until)}, "
            f"{name} is {format_duration(start)}"
        )


KINDS: dict[str, type[Part]] = {
    "stillborn": Stillborn,
    "weakly-consistent": WeaklyConsistent,
    "crash": Crash,
    "freeze": Freeze,
    "crash-host": CrashHost,
    "restart": Restart,
    "partition": Partition,
    "loss": Loss,
    "link": LinkChange,
    "configure": Configure,
    "churn": Churn,
}


def _kind(value: Any) -> str | None:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return f"<{kind}>" if isinstance(kind, str) else None


Fault = Annotated[
    Annotated[Stillborn, Tag("<stillborn>")]
    | Annotated[WeaklyConsistent, Tag("<weakly-consistent>")]
    | Annotated[Crash, Tag("<crash>")]
    | Annotated[Freeze, Tag("<freeze>")]
    | Annotated[CrashHost, Tag("<crash-host>")]
    | Annotated[Restart, Tag("<restart>")]
    | Annotated[Partition, Tag("<partition>")]
    | Annotated[Loss, Tag("<loss>")]
    | Annotated[LinkChange, Tag("<link>")]
    | Annotated[Configure, Tag("<configure>")]
    | Annotated[Churn, Tag("<churn>")],
    Discriminator(_kind, custom_error_type="fault", custom_error_message="unknown kind"),
]
