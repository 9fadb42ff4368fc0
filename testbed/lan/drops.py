"""What is dropped on its way through the switches: losses and partitions, by nftables, counted.

One table in the switches' namespace holds all of it, on the bridges' forward hook. That hook knows
the port where a message came in and the one where it goes out, finds ports by name (so a host that
is plugged in again is under the same rules at once), and is there in every kernel with nftables for
bridges. A change replaces all rules in one transaction: no message meets half of it.

Losses are drawn with `numgen random`, each on its own:

    sending   once for each message, where it enters the LAN: everywhere, by sender, or between groups
    link      once in each direction of a host's link or an uplink that has a loss of its own

Of a message in several fragments only the first is looked at: without it the others are worthless.
So a loss is one of messages however long they are.

What is dropped and was meant for an agent is counted by cause, sender and receiver, in sets whose
elements carry counters. They stay when rules are replaced.
"""

import json
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents.core.errors import LocalError
from testbed.lan.plan import FIRST_PORT

TABLE = "bridge testbed"
OF = 1_000_000_000
"""Losses are in billionths."""

Addresses = Collection[str]


@dataclass(frozen=True, slots=True)
class Between:
    """A loss of what goes from one group to another, instead of the general one."""

    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    loss: float


@dataclass(frozen=True)
class Rules:
    """All losses and partitions that hold at a time."""

    loss: float = 0.0
    by_sender: Mapping[str, float] = field(default_factory=dict)
    """Instead of the general loss, for what is sent from these addresses."""
    between: Sequence[Between] = ()
    """Instead of both; the last that fits holds."""
    sides: Sequence[tuple[str, ...]] = ()
    """Nothing passes from one side to another; who is on none reaches all."""
    into_ports: Mapping[str, float] = field(default_factory=dict)
    """Losses of what comes in at these ports of switches."""
    out_of_ports: Mapping[str, float] = field(default_factory=dict)


def install(namespace: Path, rules: Rules, host_ports: Iterable[str], pairs: int) -> None:
    """Let these rules, and no others, hold from now on. `pairs` is how many pairs of sender and
    receiver there can be."""
    _nft(namespace, "-f", "-", text=ruleset(rules, host_ports, pairs))


def count(namespace: Path) -> dict[tuple[str, str, str], int]:
    """Datagrams for agents that were dropped, by cause, sender and receiver."""
    found = {}
    for cause in ("loss", "partition"):
        answer = _nft(namespace, "--json", "list", "set", *TABLE.split(), f"by_{cause}")
        for item in json.loads(answer)["nftables"]:
            for element in item.get("set", {}).get("elem", ()):
                sender, receiver = element["elem"]["val"]["concat"]
                found[cause, sender, receiver] = element["elem"]["counter"]["packets"]
    return found


def forget(namespace: Path) -> None:
    """Count from nought again."""
    _nft(namespace, "".join(f"flush set {TABLE} by_{cause}\n" for cause in ("loss", "partition")))


def ruleset(rules: Rules, host_ports: Iterable[str], pairs: int) -> str:
    """One transaction, in nftables' language. Sets and chains that are there stay as they are."""
    return "\n".join(_lines(rules, host_ports, pairs)) + "\n"


def _lines(rules: Rules, host_ports: Iterable[str], pairs: int) -> Iterator[str]:
    yield f"add table {TABLE}"
    for cause in ("loss", "partition"):
        yield (
            f"add set {TABLE} by_{cause} {{ type ipv4_addr . ipv4_addr; size {pairs}; "
            "flags dynamic; counter; }"
        )
        yield f"add chain {TABLE} dropped_by_{cause}"
    yield f"add chain {TABLE} sending"
    yield f"add chain {TABLE} forward {{ type filter hook forward priority 0; policy accept; }}"
    yield f"flush table {TABLE}"
    for cause in ("loss", "partition"):
        chain = f"add rule {TABLE} dropped_by_{cause}"
        yield f"{chain} udp dport >= {FIRST_PORT} add @by_{cause} {{ ip saddr . ip daddr }}"
        yield f"{chain} drop"
    for rule in _sending(rules):
        yield f"add rule {TABLE} sending {rule}"
    for rule in _forward(rules, host_ports):
        yield f"add rule {TABLE} forward {rule}"


def _forward(rules: Rules, host_ports: Iterable[str]) -> Iterator[str]:
    yield "ether type != ip accept"
    yield "ip frag-off & 0x1fff != 0 accept"
    for side in rules.sides:
        others = [address for other in rules.sides if other is not side for address in other]
        if side and others:
            yield f"{_from(side)} {_to(others)} goto dropped_by_partition"
    if rules.loss or rules.by_sender or rules.between:
        yield f"iifname {_names(host_ports)} jump sending"
    for loss, ports in _alike(rules.into_ports):
        yield f"iifname {_names(ports)} {_drawn(loss)}"
    for loss, ports in _alike(rules.out_of_ports):
        yield f"oifname {_names(ports)} {_drawn(loss)}"


def _sending(rules: Rules) -> Iterator[str]:
    for group in reversed(rules.between):
        if group.senders and group.receivers:
            fits = f"{_from(group.senders)} {_to(group.receivers)}"
            if group.loss:
                yield f"{fits} {_drawn(group.loss)}"
            yield f"{fits} return"
    for loss, senders in _alike(rules.by_sender):
        if loss:
            yield f"{_from(senders)} {_drawn(loss)}"
        yield f"{_from(senders)} return"
    if rules.loss:
        yield _drawn(rules.loss)


def _drawn(loss: float) -> str:
    share = round(loss * OF)
    draw = f"numgen random mod {OF} < {share} " if share < OF else ""
    return f"{draw}goto dropped_by_loss"


def _alike(losses: Mapping[str, float]) -> list[tuple[float, list[str]]]:
    """Those of the same loss together."""
    groups: dict[float, list[str]] = {}
    for who, loss in losses.items():
        groups.setdefault(loss, []).append(who)
    return sorted(groups.items())


def _from(addresses: Addresses) -> str:
    return f"ip saddr {{ {', '.join(addresses)} }}"


def _to(addresses: Addresses) -> str:
    return f"ip daddr {{ {', '.join(addresses)} }}"


def _names(ports: Iterable[str]) -> str:
    return f"{{ {', '.join(ports)} }}"


class NftablesFailed(LocalError):
    """nftables is not there, or cannot do what it is told."""


def _nft(namespace: Path, *arguments: str, text: str = "") -> str:
    command = ["nsenter", f"--net={namespace}", "--", "nft", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().partition("\n")[0]
        raise NftablesFailed(f"nftables refuses: {said}")
    return done.stdout
