"""`testbed run`: journals of sweeps and repetitions, faults, and interruptions."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.support.lan_user import Journal, LanUser, journals_of
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.root, pytest.mark.slow]

COMMON = """\
name: tried
engine: lan
topology: small.yaml
protocol: {name: camcast, c: 3, g: 8, a: 2, z: 3}
membership: {name: scamp, c: 1}
bootstrap: {contacts: 1, super_contacts: 2}
"""


def write_experiment(user: LanUser, rest: str) -> None:
    (user.folder / "tried.yaml").write_text(COMMON + rest)


def run_on(user: LanUser, *options: str) -> Path:
    """The run folder of a run that went well."""
    user.do("run", "tried.yaml", "--runtime", "namespace", "--no-report", *options)
    return the_run(user)


def the_run(user: LanUser) -> Path:
    (run,) = (user.folder / "runs").iterdir()
    return run


def manifest_of(run: Path) -> dict[str, object]:
    return dict(json.loads((run / "manifest.json").read_text()))


def test_points_that_differ_in_what_is_published_share_agents_and_have_journals_of_their_own(
    user: LanUser, state: Path
) -> None:
    write_experiment(
        user,
        """\
network: {loss: 0.15}
workload: [{topic: .a.d.g, at: 1s, count: 5, every: 20ms, publisher: 0, psel: $psel}]
duration: 2s
repetitions: 2
sweep: {psel: [0.0, 1.0]}
""",
    )
    run = run_on(user)

    journals = journals_of(run)
    assert sorted(journals) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert not (state / user.name).exists()
    for journal in journals.values():
        assert {record.agent for record in journal.of("join")} == set(range(8))
        assert len(journal.events()) == 5
        assert {record.event for record in journal.records} - {""} == journal.events()
        assert journal.unexplained() == 0
        assert journal.dropped()["loss"] > 0
        assert min(record.time for record in journal.records) >= 0
    for repetition in (0, 1):
        stayed, climbed = journals[0, repetition], journals[1, repetition]
        assert {record.agent for record in stayed.of("deliver")} <= {0, 1, 2}
        assert {record.agent for record in climbed.of("deliver")} & {3, 4, 5}
        assert not stayed.events() & climbed.events()
    manifest = manifest_of(run)
    assert manifest["status"] == "done"
    assert manifest["problems"] == []


def test_those_who_are_stillborn_never_live_and_those_who_crash_come_back(user: LanUser) -> None:
    write_experiment(
        user,
        """\
workload: [{topic: .a.d.g, at: 2s, count: 4, every: 400ms, publisher: 0, psel: 1.0}]
faults:
  - {kind: stillborn, agents: [6]}
  - {kind: crash, at: 2100ms, for: 500ms, agents: [2]}
  - {kind: freeze, at: 2100ms, for: 500ms, agents: [1]}
  - {kind: crash-host, at: 2500ms, for: 600ms, hosts: [pc4]}
  - {kind: configure, at: 2600ms, topic: .a.d.g, parameters: {g: 4}}
  - {kind: restart, at: 3200ms}
duration: 4s
""",
    )
    run = run_on(user)

    (journal,) = journals_of(run).values()
    assert {record.agent for record in journal.of("join")} == set(range(8)) - {6}
    assert [record.agent for record in journal.of("crash")] == [2, 3, 7]
    assert sorted(record.agent for record in journal.of("restart")) == [2, 3, 7]
    assert len(journal.events()) == 4
    assert set(journal.dropped()) <= {"crashed"}
    assert journal.unexplained() == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_lan_and_keeps_what_was_collected(
    user: LanUser, state: Path, how: signal.Signals
) -> None:
    write_experiment(
        user,
        """\
network: {loss: 0.15}
workload: [{topic: .a.d.g, at: 1s, count: 500, every: 100ms, psel: 1.0}]
duration: 60s
""",
    )
    process = user.start("run", "tried.yaml", "--runtime", "namespace")

    def has_published() -> bool:
        journals = (state / user.name).glob("hosts/*/journal/*.jsonl")
        return any(b'"publish"' in path.read_bytes() for path in journals)

    wait_until(lambda: has_published() or process.poll() is not None, "an event was published")
    os.kill(process.pid, how)
    _, errors = process.communicate()

    assert process.returncode == 130
    assert errors.endswith("testbed: interrupted\n")
    assert not (state / user.name).exists()
    run = the_run(user)
    assert manifest_of(run)["status"] == "interrupted"
    journal = Journal(next((run / "journal").iterdir()))
    assert journal.of("deliver")
    assert journal.unexplained() == 0
