"""A frozen peer: it is there and does nothing, and whatever comes waits until it is thawed."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from agents.core.interest import Interest
from agents.core.messages import Event, Message, PeerId, Timer
from agents.core.protocol import Protocol
from testbed.sim.engine import Entry


class Frozen(Protocol):
    """Stands in for the protocol of a peer. As with a stopped process, whose sockets the kernel goes
    on filling, everything waits in the order in which it came; here the room is unlimited."""

    name = "frozen"
    messages = ()

    def __init__(self, protocol: Protocol, peer: PeerId, life: int) -> None:
        super().__init__(protocol.port, protocol.setting)
        self.protocol = protocol
        self.waiting: list[Entry] = []
        """As the engine had them."""
        self._peer = peer
        self._timer_source = -1 - life

    def start(self) -> None:
        self._wait(self.protocol.start)

    def stop(self) -> None:
        self._wait(self.protocol.stop)

    def subscribe(self, interest: Interest) -> None:
        self._wait(partial(self.protocol.subscribe, interest))

    def unsubscribe(self, interest: Interest) -> None:
        self._wait(partial(self.protocol.unsubscribe, interest))

    def publish(self, event: Event) -> None:
        self._wait(partial(self.protocol.publish, event))

    def on_message(self, sender: PeerId, message: Message) -> None:
        self.waiting.append((self._peer, sender, message))

    def on_timer(self, timer: Timer) -> None:
        self.waiting.append((self._peer, self._timer_source, timer))

    def configure(self, topic: str, changes: Mapping[str, Any]) -> None:
        self._wait(partial(self.protocol.configure, topic, changes))

    def views(self) -> Mapping[tuple[str, str], Sequence[PeerId]]:
        return self.protocol.views()

    def _wait(self, call: Callable[[], None]) -> None:
        self.waiting.append((-1, -1, call))
