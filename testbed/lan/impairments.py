"""What impairs a LAN at a time: links, losses, partitions. What is asked for, not how it is done.

It is kept in a file beside the ledger, so that each command knows what those before it asked for.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agents.core.errors import LocalError
from testbed.lan.drops import Between, Rules
from testbed.lan.plan import Plan
from testbed.model.lan_parts import Link

FILE = "impairments.json"

Who = Collection[int | str]
"""Hosts by their numbers, or agents by their addresses."""


class Impairments(msgspec.Struct):
    """Of one LAN. Addresses stand for agents; numbers for hosts."""

    loss: float = 0.0
    by_sender: dict[str, float] = {}
    """Instead of `loss`, for what these agents send."""
    between: list[Between] = []
    """Instead of both, from one group to another; the last that fits holds."""
    sides: list[tuple[str, ...]] = []
    links: dict[int, dict[str, Any]] = {}
    """Of hosts whose link is not as the plan has it any more."""

    @classmethod
    def read(cls, folder: Path) -> "Impairments":
        try:
            return msgspec.json.decode((folder / FILE).read_bytes(), type=cls)
        except FileNotFoundError:
            return cls()
        except msgspec.MsgspecError as error:
            raise LocalError(f"{folder / FILE} is damaged: {error}") from error

    def write(self, folder: Path) -> None:
        unfinished = folder / f"{FILE}.part"
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(self)))
        unfinished.replace(folder / FILE)

    # Changes

    def set_loss(self, plan: Plan, loss: float, senders: Who | None = None) -> None:
        if senders is None:
            self.loss = loss
        else:
            self.by_sender.update(dict.fromkeys(addresses(plan, senders), loss))

    def set_loss_between(self, plan: Plan, senders: Who, receivers: Who, loss: float) -> None:
        new = Between(addresses(plan, senders), addresses(plan, receivers), loss)
        self.between = [
            old
            for old in self.between
            if (old.senders, old.receivers) != (new.senders, new.receivers)
        ]
        self.between.append(new)

    def set_sides(self, plan: Plan, sides: Iterable[Who]) -> None:
        self.sides = [addresses(plan, side) for side in sides]
        if len(set().union(*self.sides)) < sum(map(len, self.sides)):
            raise LocalError("a partition's sides have an agent in common: it can be on one only")

    def set_link(self, host: int, link: Link) -> None:
        self.links[host] = link.model_dump(mode="json")

    # What follows

    def link(self, plan: Plan, host: int) -> Link:
        changed = self.links.get(host)
        return plan.host(host).link if changed is None else Link.model_validate(changed)

    def rules(self, plan: Plan) -> Rules:
        """For switches, by whose ports and by agents' addresses. An uplink's loss is drawn at
        whichever end it leads into, so that there is one draw in each direction."""
        of_hosts = {
            host.port: link.loss
            for host in plan.hosts
            if (link := self.link(plan, host.number)).loss
        }
        of_uplinks = {
            port: switch.link.loss
            for switch in plan.switches
            for port in (switch.up_port, switch.down_port)
            if port is not None and switch.link.loss
        }
        return Rules(
            loss=self.loss,
            by_sender=self.by_sender,
            between=self.between,
            sides=self.sides,
            into_ports=of_hosts | of_uplinks,
            out_of_ports=of_hosts,
        )

    def loss_asked(self, plan: Plan, sender: str, receiver: str) -> float:
        """Of messages from one agent to another, all in all."""
        here, there = (plan.places[address][0] for address in (sender, receiver))
        if self._separates(sender, receiver):
            return 1.0
        losses = [self._loss_at_sender(sender, receiver)]
        losses += [link.loss for link in self.path(plan, here, there)]
        return combined(losses)

    def path(self, plan: Plan, sender: int, receiver: int) -> list[Link]:
        """The links that a message takes from one host to another."""
        uplinks = plan.uplinks_between(sender, receiver)
        return [self.link(plan, sender), *uplinks, self.link(plan, receiver)]

    def _loss_at_sender(self, sender: str, receiver: str) -> float:
        for group in reversed(self.between):
            if sender in group.senders and receiver in group.receivers:
                return group.loss
        return self.by_sender.get(sender, self.loss)

    def _separates(self, sender: str, receiver: str) -> bool:
        here, there = (
            next((side for side in self.sides if address in side), None)
            for address in (sender, receiver)
        )
        return here is not None and there is not None and here is not there


def addresses(plan: Plan, who: Who) -> tuple[str, ...]:
    """Of agents that are named by their addresses or by their hosts; each once, in order."""
    found: dict[str, None] = {}
    for one in who:
        if isinstance(one, int):
            found.update(dict.fromkeys(plan.host(one).addresses))
        elif one in plan.places:
            found[one] = None
        else:
            raise LocalError(f"nobody on LAN {plan.name} has the address {one}")
    return tuple(sorted(found, key=plan.places.__getitem__))


def combined(losses: Sequence[float]) -> float:
    """Of several losses that are drawn one after another."""
    through = 1.0
    for loss in losses:
        through *= 1 - loss
    return 1 - through
