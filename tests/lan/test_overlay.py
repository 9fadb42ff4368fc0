"""A LAN whose processes find each other through P-Grid: it mends the links between communities."""

import pytest

from tests.support.lan_user import LanUser
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.root, pytest.mark.slow]

WIDE_ROOT = """\
name: wide-root
root: .a
switches: {lan: {}}
hosts: [{name: pc, count: 6, switch: lan, agents: 2, link: {rate: 100mbit}}]
communities: {.a.d.g: 2, .a.d: 1, .a: 7}
gateways: 1
"""
"""Agent 2 alone is in .a.d, 3 to 9 are in .a; agent 10 is the overlay's gateway."""

ROOT = range(3, 10)
TABLE = 3
"""Entries of a super-topic table, by CAMCAST's default."""


MOST = 5
"""As many of the root's seven are crashed, so that two are left to be found."""


def named_last(user: LanUser) -> list[int]:
    """The last of the root's processes to whom agent 2 sent something up. More than a table's: it may
    have been drawn anew since."""
    upwards = [record for record in user.collect().of("send", agent=2) if record.upward]
    latest_first = sorted(upwards, key=lambda record: record.time, reverse=True)
    return list(dict.fromkeys(record.peer for record in latest_first))[:MOST]


@pytest.mark.parametrize("membership", ["scamp+pgrid", "pgrid"])
def test_when_all_in_a_super_topic_table_crash_the_root_is_reached_through_others(
    user: LanUser, membership: str
) -> None:
    (user.folder / "wide-root.yaml").write_text(WIDE_ROOT)
    user.do(
        *("up", "--topology", "wide-root.yaml", "--runtime", "namespace"),
        *("--membership", membership),
    )
    user.publish_until_heard(".a.d.g", ".a.d.g", ".a.d", ".a")
    known: list[int] = []

    def table_is_known() -> bool:
        user.do("publish", ".a.d", "--psel", "1")
        known[:] = named_last(user)
        return len(known) >= TABLE

    wait_until(table_is_known, "all in agent 2's super-topic table were sent something")
    assert set(known) <= set(ROOT)

    crashed = user.ask("crash", *map(str, known))["crashed"]
    assert sorted(crashed) == sorted(known)
    user.publish_until_heard(".a.d.g", ".a.d.g", ".a.d", ".a")

    journal = user.collect()
    reached = {record.agent for record in journal.of("deliver") if record.agent in ROOT}
    assert reached - set(known)
    assert [record for record in journal.of("receive") if record.parasite] == []
    assert journal.unexplained() == 0
