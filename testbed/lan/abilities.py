"""What this machine's kernel can do to a LAN, found out by doing it in a namespace for the moment."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agents.core.errors import LocalError
from testbed.lan import drops, queues
from testbed.lan import link_requests as ask
from testbed.lan.namespaces import indexes_in, temporary
from testbed.lan.netlink import Kernel, KernelRefused
from testbed.model.lan_parts import Link
from testbed.model.units import format_duration


@dataclass(frozen=True, slots=True)
class Abilities:
    """Why something cannot be done; empty where it can."""

    without_rate: str = ""
    without_netem: str = ""
    without_drops: str = ""

    def check(self, link: Link) -> None:
        """Refuse what a link is asked to do and cannot."""
        queues.check(link)
        if link.needs_netem and self.without_netem:
            raise LocalError(
                f"{_only_by_netem(link)} needs the kernel's sch_netem, which this kernel has not "
                f"({self.without_netem}): leave it out, or boot a kernel that has it, such as "
                "Debian's linux-image-amd64"
            )
        if link.rate is not None and self.without_rate:
            raise LocalError(
                f"a rate needs the kernel's sch_tbf, which this kernel has not "
                f"({self.without_rate}): leave it out, or boot a kernel that has it"
            )
        if link.loss:
            self.check_loss()

    def check_loss(self) -> None:
        if self.without_drops and self.without_netem:
            raise LocalError(
                f"loss needs nftables or the kernel's sch_netem, and this machine has neither "
                f"({self.without_drops}; {self.without_netem})"
            )

    def check_groups(self, what: str) -> None:
        """Refuse what tells senders and receivers apart, where that cannot be done."""
        if self.without_drops:
            raise LocalError(
                f"{what} needs nftables, which cannot do it here: {self.without_drops}"
            )


@cache
def abilities() -> Abilities:
    """Of this machine, now. Needs root."""
    with temporary() as namespace, Kernel(namespace) as kernel:
        kernel.do("making a cable", [ask.new_cable("here", ask.towards_switch("there"))])
        interface = indexes_in(namespace)["here"]
        return Abilities(
            without_rate=_try_queues(kernel, interface, Link.read({"rate": "1mbit"})),
            without_netem=_try_queues(kernel, interface, Link.read({"delay": "1ms"})),
            without_drops=_try_drops(namespace),
        )


def _try_queues(kernel: Kernel, interface: int, link: Link) -> str:
    try:
        kernel.do("tc", queues.on(interface, queues.new_queues(link)))
    except KernelRefused as refused:
        return os.strerror(refused.errno or 0)
    kernel.do("tc", queues.on(interface, (queues.no_queues(),)))
    return ""


def _try_drops(namespace: int) -> str:
    some = drops.Rules(
        loss=0.5,
        between=[drops.Between(("198.18.0.1",), ("198.18.0.2",), 0.5)],
        sides=[("198.18.0.1",), ("198.18.0.2",)],
        out_of_ports={"here": 0.5},
    )
    try:
        drops.install(Path(f"/proc/{os.getpid()}/fd/{namespace}"), some, ["here"], 1)
    except drops.NftablesFailed as failed:
        return str(failed)
    return ""


def _only_by_netem(link: Link) -> str:
    """What of it to name in an error."""
    if link.delay:
        return f"a delay of {format_duration(link.delay)}"
    return "duplicate" if link.duplicate else "corrupt"
