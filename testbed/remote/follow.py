"""What a job prints, shown here as it comes, and our Ctrl-C and window passed on to it."""

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from types import FrameType

import paramiko

from agents.core.errors import LocalError
from testbed.remote.connection import Connection, Lost
from testbed.remote.job import Job

CHUNK = 1 << 16


class Follower:
    """Shows each stream from its offset to its end; offsets say how much was shown.

    The first Ctrl-C goes to the command there; a second one leaves it.
    """

    def __init__(self, connection: Connection, job: Job, offsets: MutableMapping[str, int]) -> None:
        self._connection = connection
        self._job = job
        self._offsets = offsets
        self._outputs = {"out": sys.stdout.fileno(), "err": sys.stderr.fileno()}
        self._interrupted = False
        self._leaving = False
        self._showing = False
        self._interrupt_due = False
        self._resize_due = False

    def follow(self) -> None:
        """To the end; after a cut, again from where it was."""
        sys.stdout.flush()
        sys.stderr.flush()
        with _waking(self._caught) as woken:
            channels = {
                self._job.follow(stream, offset): stream for stream, offset in self._offsets.items()
            }
            while channels:
                self._pass_on()
                ready, _, _ = select.select([woken, *(one.fileno() for one in channels)], [], [])
                if woken in ready:
                    os.read(woken, CHUNK)
                for channel in [one for one in channels if one.fileno() in ready]:
                    if not self._show_some(channel, channels[channel]):
                        del channels[channel]

    def _show_some(self, channel: paramiko.Channel, stream: str) -> bool:
        with self._connection.noticing_a_cut():
            data = channel.recv(CHUNK)
        if not data:
            if channel.recv_exit_status() != 0:
                raise Lost
            channel.close()
            return False
        # What is shown and what is counted as shown must not be parted by an interrupt.
        self._showing = True
        if stream in self._outputs and not _written(self._outputs[stream], data):
            # Nobody reads it any more; here, the command would end by that.
            del self._outputs[stream]
            self._interrupt_due = True
        self._offsets[stream] += len(data)
        self._showing = False
        if self._leaving:
            raise KeyboardInterrupt
        return True

    def _caught(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGWINCH:
            self._resize_due = True
        elif not self._interrupted:
            self._interrupted = self._interrupt_due = True
        elif self._showing and not self._leaving:
            self._leaving = True
        else:
            raise KeyboardInterrupt

    def _pass_on(self) -> None:
        if self._interrupt_due:
            _if_it_still_runs(self._job.interrupt)
            self._interrupt_due = False
        if self._resize_due and os.isatty(sys.stdout.fileno()):
            size = os.get_terminal_size(sys.stdout.fileno())
            _if_it_still_runs(lambda: self._job.resize(size.lines, size.columns))
        self._resize_due = False


def _if_it_still_runs(act: Callable[[], None]) -> None:
    with suppress(LocalError):
        act()


def _written(descriptor: int, data: bytes) -> bool:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except BrokenPipeError:
        return False
    return True


@contextmanager
def _waking(handler: Callable[[int, FrameType | None], None]) -> Iterator[int]:
    """Signals wake up whoever waits for this descriptor, and so cut no write in two."""
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    descriptor_before = signal.set_wakeup_fd(wake)
    before = {kind: signal.signal(kind, handler) for kind in (signal.SIGINT, signal.SIGWINCH)}
    try:
        yield woken
    finally:
        for kind, handler_before in before.items():
            signal.signal(kind, handler_before)
        signal.set_wakeup_fd(descriptor_before)
        os.close(woken)
        os.close(wake)
