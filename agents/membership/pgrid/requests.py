"""Questions that wait for their answers, and whatever else waits for its time."""

from collections.abc import Callable
from typing import NamedTuple

from agents.core.errors import RemoteError
from agents.core.messages import PeerId
from agents.core.overlay import OverlayMessage
from agents.core.port import Port
from agents.membership.pgrid.messages import AnswerDue

ATTEMPTS = 5
"""How often a question is sent. Ours: at 30 % loss, it or its answer is lost every other time, and a
peer that lives is taken for dead 3 % of the time."""

OnAnswer = Callable[[PeerId, OverlayMessage], None]
OnSilence = Callable[[], None]


class _Waiting(NamedTuple):
    asked: PeerId
    question: OverlayMessage
    attempts_left: int
    kinds: tuple[type[OverlayMessage], ...]
    on_answer: OnAnswer
    on_silence: OnSilence


class Requests:
    """Gives each question a serial, and to each exactly one answer: the asked peer's, or silence."""

    def __init__(self, port: Port, timeout_ns: int) -> None:
        self._port = port
        self._timeout_ns = timeout_ns
        # Another life of this peer may be answered still.
        self._serial = int(port.rng.random() * (1 << 31))
        self._waiting: dict[int, _Waiting] = {}
        self._later: dict[int, Callable[[], None]] = {}

    def ask(
        self,
        peer: PeerId,
        question: Callable[[int], OverlayMessage],
        kinds: tuple[type[OverlayMessage], ...],
        on_answer: OnAnswer,
        on_silence: OnSilence,
    ) -> None:
        """Send what `question` makes of a serial. An answer is a message of one of the kinds."""
        serial = self._next()
        waiting = _Waiting(peer, question(serial), ATTEMPTS, kinds, on_answer, on_silence)
        self._send(serial, waiting)

    def later(self, delay_ns: int, action: Callable[[], None]) -> None:
        """Do something when that time has passed."""
        serial = self._next()
        self._later[serial] = action
        self._port.after(delay_ns, AnswerDue(serial))

    def on_answer(self, sender: PeerId, serial: int, answer: OverlayMessage) -> None:
        waiting = self._waiting.get(serial)
        if waiting is None:
            return  # it comes too late
        if sender != waiting.asked:
            raise RemoteError(f"{sender} answers what {waiting.asked} was asked")
        if not isinstance(answer, waiting.kinds):
            raise RemoteError(f"a {type(answer).__name__} is no answer to what was asked")
        waiting.on_answer(sender, answer)
        # Only now: an answer that is refused has changed nothing.
        self._waiting.pop(serial, None)

    def on_due(self, serial: int) -> None:
        waiting = self._waiting.pop(serial, None)
        if waiting is not None:
            if waiting.attempts_left:
                self._send(serial, waiting)
            else:
                waiting.on_silence()
        action = self._later.pop(serial, None)
        if action is not None:
            action()

    def _send(self, serial: int, waiting: _Waiting) -> None:
        self._waiting[serial] = waiting._replace(attempts_left=waiting.attempts_left - 1)
        self._port.send(waiting.asked, waiting.question)
        self._port.after(self._timeout_ns, AnswerDue(serial))

    def clear(self) -> None:
        self._waiting.clear()
        self._later.clear()

    def _next(self) -> int:
        self._serial = (self._serial + 1) % (1 << 32)
        return self._serial
