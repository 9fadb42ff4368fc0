"""What sampled links of a LAN really do: rate, loss and round trip, beside what was asked of them.

Probes are datagrams between two hosts, sent and received by this process over sockets that belong to
the hosts' network namespaces, so nothing needs to run there. They go to a port below the agents'
ports and are not counted among their messages. Sampling takes a couple of seconds and fills links
meanwhile: it is for before or after a run.
"""

import math
import os
import select
import socket
import statistics
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self

from testbed.lan.namespaces import opened, socket_in
from testbed.lan.network import HostIsDown, Network
from testbed.lan.plan import Plan
from testbed.lan.queues import FRAME, queue_bytes
from testbed.model.lan_parts import Link

PORT = 8999
"""Below the agents' ports."""
ROUND_TRIPS = 20
LOSS_PROBES = 20_000
"""Enough to see a loss of 15 % to within 0.3 points, as one standard deviation is 0.25."""
LOSS_S = 0.5
RATE_S = 0.2
RATE_TRIES = 3
"""The best of so many transfers counts: a busy machine can make one slower, but none faster."""
RATE_BOUND = 0.1
"""Ours: the share of a rate by which a link may miss it. What a transfer gets of 100 Mb/s is 94 to 96,
as frames have headers; what is measured here are frames."""
LOSS_BOUND = 0.005
"""Ours: half a point, and as much as the draw itself may be off."""
DEVIATIONS = 4
"""How many standard deviations the draw may be off: one measurement of 16,000 is further off."""
ROUND_TRIP_BOUND_MS = 5.0
"""Ours: what a machine that keeps up takes for it, queues and jitter aside."""

QUIET_S = 0.05
"""Nothing comes any more when nothing came for so long after the longest way."""
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
_NUMBER = struct.Struct("=8sQ")
_TIMESTAMP = struct.Struct("=qq")


@dataclass(frozen=True, slots=True)
class Measured:
    """One property of the way between two hosts."""

    what: str
    asked: float
    achieved: float
    unit: str
    bound: float
    """How far `achieved` may be from `asked`."""
    ok: bool

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def measure(network: Network, pairs: Sequence[tuple[int, int]] | None = None) -> list[Measured]:
    """The ways between these pairs of hosts; two of the LAN if none are named."""
    found: list[Measured] = []
    for sender, receiver in sample(network.plan) if pairs is None else pairs:
        try:
            with ExitStack() as opening:
                here = opening.enter_context(_Prober(network, sender))
                there = opening.enter_context(_Prober(network, receiver))
                found += _Way(network, here, there).measure()
        except HostIsDown:
            continue
    return found


def sample(plan: Plan) -> list[tuple[int, int]]:
    """The first host and the last, which are on different switches where there are several; and two
    from within."""
    count = len(plan.hosts)
    pairs = {(1, count): None, (count // 3 + 1, 2 * count // 3): None}
    return [(one, other) for one, other in pairs if one != other and other > 0]


class _Prober:
    """A socket in a host's namespace."""

    def __init__(self, network: Network, host: int) -> None:
        self.host = host
        self.name = network.plan.host(host).name
        self.address = network.plan.address(host)
        with opened(network.namespace_of(host)) as namespace:
            self._socket = socket_in(namespace, socket.AF_INET)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.bind((self.address, PORT))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def keep_ready(self, size: int) -> None:
        """How many bytes may wait to be sent: fewer than fit the queue, or it would drop some."""
        self._socket.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, size)

    def send(self, to: "_Prober", probe: bytes) -> None:
        """Waits while this host's own queue is full."""
        self._socket.sendto(probe, (to.address, PORT))

    def received(self, run: bytes) -> Iterator[tuple[int, int, bytes]]:
        """What has come meanwhile: the probes' numbers, when they came in ns, and they themselves."""
        while True:
            try:
                probe, ancillary, _flags, _sender = self._socket.recvmsg(
                    2048, 64, socket.MSG_DONTWAIT
                )
            except BlockingIOError:
                return
            if len(probe) < _NUMBER.size:
                continue
            of_run, number = _NUMBER.unpack_from(probe)
            if of_run == run:
                seconds, ns = _TIMESTAMP.unpack(ancillary[0][2])
                yield number, seconds * 1_000_000_000 + ns, probe

    def wait(self, seconds: float) -> bool:
        """Whether something came within that time."""
        return bool(select.select([self._socket], [], [], seconds)[0])


class _Way:
    """From one host to another, and back."""

    def __init__(self, network: Network, here: _Prober, there: _Prober) -> None:
        self.here = here
        self.there = there
        impairments, plan = network.impairments, network.plan
        self.path: list[Link] = impairments.path(plan, here.host, there.host)
        self.loss = impairments.loss_asked(plan, here.address, there.address)
        self.loss_back = impairments.loss_asked(plan, there.address, here.address)
        self.rate = min((link.rate for link in self.path if link.rate is not None), default=None)
        self.delay_s = sum(link.delay for link in self.path) / 1e9
        self.jitter_s = sum(link.jitter for link in self.path) / 1e9

    def measure(self) -> Iterator[Measured]:
        if max(self.loss, self.loss_back) < 1:
            yield from self._round_trip()
        lost, probes = self._lost()
        deviation = math.sqrt(self.loss * (1 - self.loss) / probes)
        bound = LOSS_BOUND + DEVIATIONS * deviation
        yield _measured("loss", self.here, self.there, self.loss, lost / probes, "", bound)
        if self.rate is not None and max(self.loss, self.loss_back) < 1:
            yield self._rate(self.here, self.there, self.rate, self.loss)
            yield self._rate(self.there, self.here, self.rate, self.loss_back)

    def _round_trip(self) -> Iterator[Measured]:
        """All probes are under way at once, so that a long way takes no longer than a short one. The
        middle of those that came back counts."""
        run = os.urandom(8)
        sent: dict[int, int] = {}
        trips: list[float] = []
        deadline = time.monotonic() + 2 * self.delay_s + 2 * self.jitter_s + 5 * QUIET_S
        while len(trips) < ROUND_TRIPS and (now := time.monotonic()) < deadline:
            if len(sent) < 4 * ROUND_TRIPS:
                number = len(sent)
                sent[number] = time.time_ns()
                self.here.send(self.there, _NUMBER.pack(run, number))
            self.there.wait(min(0.002, deadline - now))
            for _number, _when, probe in self.there.received(run):
                self.there.send(self.here, probe)
            for number, when, _probe in self.here.received(run):
                trips.append((when - sent[number]) / 1e6)
        asked = 2e3 * self.delay_s
        achieved = statistics.median(trips) if trips else math.inf
        bound = ROUND_TRIP_BOUND_MS + 2e3 * self.jitter_s + self._serialization_ms()
        yield _measured("round trip", self.here, self.there, asked, achieved, "ms", bound)

    def _serialization_ms(self) -> float:
        """What small frames take on slow links, there and back."""
        return sum(2 * 64 * 8 / link.rate * 1e3 for link in self.path if link.rate is not None)

    def _lost(self) -> tuple[int, int]:
        """How many of how many probes did not come. At half the rate, so that no queue fills."""
        run = os.urandom(8)
        frame_bits = 8 * (14 + 20 + 8 + _NUMBER.size)
        a_second = min(self.rate / frame_bits / 2 if self.rate else math.inf, 2 * LOSS_PROBES)
        probes = max(100, min(LOSS_PROBES, int(a_second * LOSS_S)))
        came: set[int] = set()
        start = time.monotonic()
        for number in range(probes):
            ahead = start + number / a_second - time.monotonic()
            if ahead > 0.002:
                time.sleep(ahead)
            self.here.send(self.there, _NUMBER.pack(run, number))
            if number % 64 == 0:
                came.update(one for one, _, _ in self.there.received(run))
        came.update(one for one, _, _ in self._until_quiet(self.there, run))
        return probes - len(came), probes

    def _rate(self, sender: _Prober, receiver: _Prober, rate: int, loss: float) -> Measured:
        asked = rate / 1e6
        bound = RATE_BOUND * asked
        achieved = 0.0
        for _ in range(RATE_TRIES):
            # What was lost at random had passed the sender's link like the rest.
            frames_a_second = self._transfer(sender, receiver, rate) / (1 - loss)
            achieved = max(achieved, frames_a_second * FRAME * 8 / 1e6)
            if achieved >= asked - bound:
                break
        return _measured("rate", sender, receiver, asked, achieved, "Mb/s", bound)

    def _transfer(self, sender: _Prober, receiver: _Prober, rate: int) -> float:
        """Full frames as fast as they are taken; how many came in a second. The last four fifths
        count, when the burst that a queue lets pass is over."""
        run = os.urandom(8)
        filling = b"\0" * (FRAME - 14 - 20 - 8 - _NUMBER.size)
        count = max(20, int(rate * RATE_S / 8 / FRAME))
        arrivals: list[int] = []
        sender.keep_ready(int(0.6 * queue_bytes(rate)))
        deadline = time.monotonic() + 4 * RATE_S + 40 * FRAME * 8 / rate
        for number in range(count):
            sender.send(receiver, _NUMBER.pack(run, number) + filling)
            if number % 64 == 0:
                arrivals += (when for _, when, _ in receiver.received(run))
                if time.monotonic() > deadline:
                    break
        arrivals += (when for _, when, _ in self._until_quiet(receiver, run))
        arrivals = arrivals[len(arrivals) // 5 :]
        if len(arrivals) < 2:
            return 0.0
        return (len(arrivals) - 1) * 1e9 / (arrivals[-1] - arrivals[0])

    def _until_quiet(self, receiver: _Prober, run: bytes) -> Iterator[tuple[int, int, bytes]]:
        while receiver.wait(QUIET_S + self.delay_s + self.jitter_s):
            yield from receiver.received(run)


def _measured(
    what: str,
    sender: _Prober,
    receiver: _Prober,
    asked: float,
    achieved: float,
    unit: str,
    bound: float,
) -> Measured:
    return Measured(
        what=f"{what} {sender.name} → {receiver.name}",
        asked=asked,
        achieved=achieved,
        unit=unit,
        bound=bound,
        ok=abs(achieved - asked) <= bound,
    )
