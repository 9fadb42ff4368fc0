"""What one can ask of an agent and of a machine's supervisor; the names are those on the wire."""

from typing import Annotated, Any

from msgspec import Meta, field

from agents.core.messages import Peer
from agents.host.control import Request

Contacts = dict[str, list[Peer]]


class Start(Request, frozen=True, tag="start"):
    """Begin to live: make the protocol and subscribe to the agent's interests."""

    contacts: Contacts = field(default_factory=dict)
    """By scope: who lets this agent join."""
    super_contacts: Contacts | None = None
    """By topic: whom it may be given of a super-community; left out, the communities as far as the
    membership knows them in advance."""
    neighbourhood: list[Peer] = field(default_factory=list)


class ChangeContacts(Request, frozen=True, tag="contacts"):
    """Whom it can turn to from now on; what is left out stays."""

    contacts: Contacts | None = None
    super_contacts: Contacts | None = None
    neighbourhood: list[Peer] | None = None


class Stop(Request, frozen=True, tag="stop"):
    """Leave in good order. The process stays and answers."""


class Publish(Request, frozen=True, tag="publish"):
    topic: str
    data: bytes = b""
    psel: Annotated[float, Meta(ge=0, le=1)] | None = None


class Subscribe(Request, frozen=True, tag="subscribe"):
    topics: list[str]


class Unsubscribe(Request, frozen=True, tag="unsubscribe"):
    topics: list[str]


class Configure(Request, frozen=True, tag="configure"):
    topic: str
    changes: dict[str, Any]


class AgentStatus(Request, frozen=True, tag="status"):
    pass


class Tables(Request, frozen=True, tag="tables"):
    """Write the tables as they are now into the journal."""


class TurnPage(Request, frozen=True, tag="journal"):
    """Go on in a new journal: the same agents are now measured for another point of a sweep."""

    point: Annotated[int, Meta(ge=0)]
    epoch_ns: Annotated[int, Meta(ge=0)]
    """When the new journal's time begins, or would have begun. The protocol's clock goes on."""


class Listen(Request, frozen=True, tag="listen"):
    """Be told of every joining, leaving and delivery from now on."""


OF_AGENT = (
    *(Start, ChangeContacts, Stop, Publish, Subscribe, Unsubscribe),
    *(Configure, AgentStatus, Tables, TurnPage, Listen),
)


class MachineStatus(Request, frozen=True, tag="status"):
    pass


class Kill(Request, frozen=True, tag="kill"):
    """SIGKILL; answered when the agent is dead."""

    agent: int


class Spawn(Request, frozen=True, tag="spawn"):
    """The next life of a dead agent; answered when it can be reached."""

    agent: int


class Freeze(Request, frozen=True, tag="freeze"):
    """SIGSTOP; answered when the agent stands still."""

    agent: int


class Thaw(Request, frozen=True, tag="thaw"):
    agent: int


class Reload(Request, frozen=True, tag="reload"):
    """Kill all agents and begin anew with what `machine.json` says now. Whoever asks for it has
    collected the journals: they are deleted."""


class Shutdown(Request, frozen=True, tag="shutdown"):
    """End everything on this machine."""


OF_MACHINE = (MachineStatus, Kill, Spawn, Freeze, Thaw, Reload, Shutdown)
