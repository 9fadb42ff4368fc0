"""Several recorders of the same world at once."""

from collections.abc import Sequence

from agents.core.journal import Cause
from agents.core.messages import Event, Message, PeerId
from testbed.sim.world import Recorder


class SeveralRecorders:
    """Tells each of them everything."""

    def __init__(self, *recorders: Recorder) -> None:
        self._recorders = recorders

    def sent(self, sender: PeerId, peers: Sequence[PeerId], message: Message) -> None:
        for recorder in self._recorders:
            recorder.sent(sender, peers, message)

    def received(self, to: PeerId, sender: PeerId, message: Message) -> None:
        for recorder in self._recorders:
            recorder.received(to, sender, message)

    def dropped(self, to: PeerId, sender: PeerId, message: Message, cause: Cause) -> None:
        for recorder in self._recorders:
            recorder.dropped(to, sender, message, cause)

    def published(self, agent: PeerId, event: Event) -> None:
        for recorder in self._recorders:
            recorder.published(agent, event)

    def delivered(self, agent: PeerId, event: Event, community: str) -> None:
        for recorder in self._recorders:
            recorder.delivered(agent, event, community)

    def joined(self, agent: PeerId, community: str) -> None:
        for recorder in self._recorders:
            recorder.joined(agent, community)

    def left(self, agent: PeerId, community: str) -> None:
        for recorder in self._recorders:
            recorder.left(agent, community)

    def crashed(self, agent: PeerId) -> None:
        for recorder in self._recorders:
            recorder.crashed(agent)

    def restarted(self, agent: PeerId) -> None:
        for recorder in self._recorders:
            recorder.restarted(agent)

    def impaired(self, cause: Cause, value: float, community: str, towards: str) -> None:
        for recorder in self._recorders:
            recorder.impaired(cause, value, community, towards)

    def finish(self) -> None:
        for recorder in self._recorders:
            recorder.finish()
