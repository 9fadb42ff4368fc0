"""What holds packets back at an end of a link: its rate, and what only netem can do. Pure.

The queues of an interface are those of packets that leave it, so a link has them at both ends. The
rate is a token bucket (TBF). netem (delay, jitter, reorder, duplicate, corrupt, and loss where
nftables cannot) goes in front of it where it is asked for, as its documentation has it: netem as the
root, the bucket as its child. The bucket's queue then stays as short as it is without netem.

Between queues of the same shape a change is made in place, and what is queued stays queued. To put
netem in or take it out, the queues are made anew, and what is in them is dropped.
"""

import struct
from functools import cache
from typing import Any

from pyroute2.netlink.rtnl import RTM_DELQDISC, RTM_GETQDISC, RTM_NEWQDISC
from pyroute2.netlink.rtnl.tcmsg import tcmsg
from pyroute2.netlink.rtnl.tcmsg.common import get_rate_parameters, tick_in_usec

from agents.core.errors import LocalError
from testbed.lan.netlink import CREATE, REPLACE, Kernel, attribute, encode, for_interface
from testbed.model.lan_parts import Link
from testbed.model.rates import format_rate

ROOT = 0xFFFFFFFF
NETEM = 0x10000
BEHIND_NETEM = 0x10001
BUCKET_BEHIND_NETEM = 0x20000
BUCKET = 0x30000

FRAME = 1514
"""Bytes of a full frame of Ethernet as the queues count them."""
BURST_S = 0.004
"""Ours: what may leave at once is what the link carries in 4 ms, two frames at least. A machine so
busy that it looks after its queues later than that makes links slower than asked."""
QUEUE_S = 0.05
"""Ours: the queue holds what the link carries in 50 ms, like a switch of the time with 512 KiB for a
port of 100 Mb/s; ten frames at least."""
FASTEST = 34_000_000_000
"""Bits a second that TBF can count in 32 bits of bytes."""
LONGEST_NS = 250_000_000_000
"""A delay that netem can count in 32 bits of ticks."""

EVERYTHING = (1 << 32) - 1
"""netem's probability of one."""


Asked = tuple[Link, float]
"""What an end of a link is to do, and the loss that netem shall draw there."""


def shape(link: Link, netem_loss: float = 0.0) -> tuple[bool, bool]:
    """Whether netem and a token bucket are there; in place, all else can be changed."""
    return link.needs_netem or netem_loss > 0, link.rate is not None


@cache
def new_queues(link: Link, netem_loss: float = 0.0) -> tuple[bytes, ...]:
    """Requests for an interface that has no queues yet, or for changing those of the same shape."""
    with_netem, with_bucket = shape(link, netem_loss)
    requests = []
    if with_netem:
        requests.append(_netem(link, netem_loss))
    if with_bucket:
        requests.append(_bucket(link, behind_netem=with_netem))
    return tuple(requests)


@cache
def no_queues() -> bytes:
    return encode(tcmsg, RTM_DELQDISC, 0, {"parent": ROOT}, ())


def on(interface: int, requests: tuple[bytes, ...]) -> list[bytes]:
    return [for_interface(request, interface) for request in requests]


def queue_bytes(rate: int) -> int:
    """How much waits for a link of this rate before more is dropped."""
    return max(10 * FRAME, int(rate / 8 * QUEUE_S))


def check(link: Link) -> None:
    """Refuse what the queues cannot count."""
    if link.rate is not None and link.rate > FASTEST:
        raise LocalError(
            f"a link's rate must be at most {format_rate(FASTEST)}, is {format_rate(link.rate)}: "
            "leave it out for as fast as the machine can"
        )
    if link.delay + link.jitter > LONGEST_NS:
        raise LocalError("a link's delay and jitter together must be at most 250s")


def dropped_in_queues(kernel: Kernel) -> dict[int, tuple[int, int]]:
    """By interface: packets that netem dropped, and packets that found the bucket's queue full."""
    found: dict[int, tuple[int, int]] = {}
    for _kind, content in kernel.dump(encode(tcmsg, RTM_GETQDISC, 0, {}, ())):
        _family, index, handle, _parent, _info = struct.unpack_from("=BxxxiIII", content)
        lost, full = found.get(index, (0, 0))
        drops = _drops(content[20:])
        if handle == NETEM:
            lost += drops
        elif handle in (BUCKET, BUCKET_BEHIND_NETEM):
            full += drops
        found[index] = lost, full
    return found


def _netem(link: Link, loss: float) -> bytes:
    packets_a_second = (link.rate or 10**9) / 8 / 64
    waiting = int(packets_a_second * (link.delay + link.jitter) / 1e9)
    options = {
        "delay": _ticks(link.delay),
        "jitter": _ticks(link.jitter),
        # Enough for the smallest frames at the full rate.
        "limit": min(max(1_000, 2 * waiting), 1_000_000),
        "loss": _share(loss),
        "duplicate": _share(link.duplicate),
        "gap": 1 if link.reorder else 0,
        # In place, what is left out would stay as it was: so nothing is.
        "attrs": [
            ["TCA_NETEM_REORDER", {"prob_reorder": _share(link.reorder), "corr_reorder": 0}],
            ["TCA_NETEM_CORRUPT", {"prob_corrupt": _share(link.corrupt), "corr_corrupt": 0}],
        ],
    }
    return _queue("netem", NETEM, ROOT, options)


def _bucket(link: Link, *, behind_netem: bool) -> bytes:
    assert link.rate is not None
    bytes_a_second = link.rate / 8
    parameters = get_rate_parameters(
        {
            "rate": bytes_a_second,
            "burst": max(2 * FRAME, int(bytes_a_second * BURST_S)),
            "limit": queue_bytes(link.rate),
        }
    )
    options = {"attrs": [["TCA_TBF_PARMS", parameters], ["TCA_TBF_RTAB", True]]}
    if behind_netem:
        return _queue("tbf", BUCKET_BEHIND_NETEM, BEHIND_NETEM, options)
    return _queue("tbf", BUCKET, ROOT, options)


def _queue(kind: str, handle: int, parent: int, options: dict[str, Any]) -> bytes:
    return encode(
        tcmsg,
        RTM_NEWQDISC,
        CREATE | REPLACE,
        {"handle": handle, "parent": parent},
        [("TCA_KIND", kind), ("TCA_OPTIONS", options)],
    )


def _ticks(ns: int) -> int:
    return round(ns / 1000 * tick_in_usec)


def _share(probability: float) -> int:
    return round(probability * EVERYTHING)


TCA_STATS2 = 7
TCA_STATS_QUEUE = 3


def _drops(attributes: bytes) -> int:
    """`struct gnet_stats_queue` begins with qlen, backlog, drops."""
    queue = attribute(attributes, TCA_STATS2, TCA_STATS_QUEUE)
    return int(struct.unpack_from("=III", queue)[2]) if queue else 0
