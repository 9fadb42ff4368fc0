"""The LAN as a user meets it: brought up, looked at, hurt, collected from and taken down."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import REPOSITORY, refusal
from tests.support.lan_user import UPSTREAM, LanUser
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.root, pytest.mark.slow]

ALL_UP = {".a.d.g": 3, ".a.d": 2, ".a": 1, ".a.b": 2}
NOTHING = dict.fromkeys(ALL_UP, 0)
UPWARDS = (".a.d.g", ".a.d", ".a")


def test_an_event_climbs_to_the_top_and_nobody_else_sees_it(user: LanUser, runtime: str) -> None:
    user.up(runtime)

    status = user.ask("status")
    assert {row["community"]: row["joined"] for row in status["communities"]} == ALL_UP
    assert status["down"] == []
    assert status["runtime"] == runtime

    published = user.ask("publish", ".a.d.g", "hello", "--agent", "1")
    assert published == {"event": "1.0.0", "agent": 1, "topic": ".a.d.g"}
    user.publish_until_heard(".a.d.g", *UPWARDS)

    journal = user.collect()
    copies = [record for record in journal.of("receive") if record.event]
    assert {record.agent for record in copies} <= UPSTREAM
    assert [record for record in copies if record.parasite] == []
    assert {record.peer for record in copies if record.agent == 5} <= {3, 4}
    assert journal.unexplained() == 0
    assert {record.agent for record in journal.of("join")} == set(range(8))

    again = user.collect()
    assert again.unexplained() == 0
    assert len(again.of("deliver")) == len(journal.of("deliver"))
    assert len(again.of("table")) == len(journal.of("table"))

    assert user.do("exec", "pc1", "--", "id", "-u").strip() == "65530"
    assert "no host is called 'pc9'" in refusal(user.call("exec", "pc9", "--", "true"))
    assert user.call("exec", "pc1", "--", "sh", "-c", "exit 7").returncode == 7
    assert user.do("logs", "pc1") == ""


def test_crashed_agents_and_machines_come_back_with_their_links(
    user: LanUser, runtime: str
) -> None:
    user.up(runtime, "--loss", "0.15")

    assert user.ask("crash", "2") == {"crashed": [2]}
    assert user.ask("crash", "2") == {"crashed": []}
    assert user.ask("crash", "--host", "pc2") == {"crashed": [1, 5]}
    status = user.ask("status")
    assert status["down"] == [1, 2, 5]

    assert "pc2 does not run" in refusal(user.call("exec", "pc2", "--", "true"))
    assert user.ask("restart") == {"restarted": [1, 2, 5]}
    user.wait_for(down=[], loss=0.15)
    user.wait_until_joined()
    user.publish_until_heard(".a.d.g", *UPWARDS)

    journal = user.collect()
    assert [record.agent for record in journal.of("crash")] == [2, 1, 5]
    assert sorted(record.agent for record in journal.of("restart")) == [1, 2, 5]
    assert journal.dropped()["loss"] > 0
    assert journal.unexplained() == 0


def test_over_tcp_nothing_is_dropped(user: LanUser) -> None:
    user.up("namespace", "--transport", "tcp")
    user.publish_until_heard(".a.d.g", *UPWARDS)

    journal = user.collect()
    assert journal.dropped() == {}
    assert journal.unexplained() == 0

    # What is sent to those who are down is lost to their crash, and to nothing else.
    assert user.ask("crash", "3") == {"crashed": [3]}
    assert user.ask("crash", "--host", "pc2") == {"crashed": [1, 5]}
    user.do("publish", ".a.d.g", "--psel", "1", "--agent", "0")
    user.do("restart")
    user.wait_until_joined()
    user.publish_until_heard(".a.d.g", *UPWARDS, options=["--agent", "1"])

    journal = user.collect()
    assert set(journal.dropped()) <= {"crashed", "partition"}
    assert journal.unexplained() == 0


def test_frozen_agents_hear_what_waited_when_they_are_thawed(user: LanUser) -> None:
    user.up()
    assert user.do("freeze", "5") == "frozen: 5\n"
    assert user.ask("status")["down"] == [5]
    user.publish_until_heard(".a.d.g", ".a.d")
    assert user.delivered()[".a"] == 0

    assert user.do("thaw") == "thawed: 5\n"
    user.publish_until_heard(".a.d.g", ".a")
    assert user.do("thaw") == "thawed: nobody, none was frozen\n"
    assert user.collect().unexplained() == 0


def test_partitions_and_losses_between_communities_hold_until_they_are_ended(
    user: LanUser,
) -> None:
    user.up()
    user.do("partition", ".a.d.g", ".a.d,.a")
    assert user.ask("status")["partition"] == [3, 3]
    user.publish_until_heard(".a.d.g", ".a.d.g")
    wait_until(
        lambda: (
            user.do("publish", ".a.d.g", "--psel", "1")
            and user.ask("status")["dropped"].get("partition")
        ),
        "copies were cut off",
    )
    assert user.delivered() | {".a.d.g": 0} == NOTHING

    user.do("heal")
    user.do("loss", "1", "--from", ".a.d", "--to", ".a")
    assert user.ask("status")["losses"] == [{"from": 2, "to": 1, "loss": 1.0}]
    user.publish_until_heard(".a.d.g", ".a.d")
    wait_until(
        lambda: (
            user.do("publish", ".a.d.g", "--psel", "1")
            and user.ask("status")["dropped"].get("loss")
        ),
        "copies were lost",
    )
    assert user.delivered()[".a"] == 0
    user.publish_until_heard(".a.b", ".a")

    journal = user.collect()
    assert journal.dropped()["partition"] > 0
    assert journal.dropped()["loss"] > 0
    assert journal.unexplained() == 0
    assert [(r.cause, r.value) for r in journal.of("impairment", community=".a.d", topic=".a")] == [
        ("loss", 1.0)
    ]


def test_churn_ends_with_everybody_up(user: LanUser) -> None:
    user.up()
    said = user.do(
        *("churn", "--on", "500ms", "--off", "300ms", "--for", "2s"),
        *("--community", ".a.d.g"),
    )
    assert said.endswith("all are up again\n")
    user.wait_for(down=[])

    journal = user.collect()
    crashed = [record.agent for record in journal.of("crash")]
    assert crashed
    assert set(crashed) <= {0, 1, 2}
    assert len(journal.of("restart")) == len(crashed)
    assert journal.unexplained() == 0


def test_lans_of_different_names_stand_side_by_side_and_one_name_is_one_lan(
    user: LanUser, state: Path, tmp_path: Path
) -> None:
    other = LanUser(tmp_path, f"{user.name}b")
    first = user.start("up", "--topology", "small.yaml", "--runtime", "namespace")
    wait_until((state / user.name / "holder.json").exists, "the first one is at work")
    first.send_signal(signal.SIGSTOP)
    second = user.call("up", "--topology", "small.yaml", "--runtime", "namespace")
    said = refusal(second)
    assert second.returncode == 2
    assert f"pid {first.pid}: testbed up" in said
    first.send_signal(signal.SIGCONT)
    assert first.communicate()[1] == ""
    try:
        other.up()

        assert "stands already" in refusal(user.call("up", "--topology", "small.yaml"))
        assert "stands already" in refusal(user.call("run", "smoke"))
        user.publish_until_heard(".a.d.g", *UPWARDS)
        assert other.delivered() == NOTHING
    finally:
        other.do("down")
    assert user.ask("status")["down"] == []


def test_a_users_own_protocol_file_runs_on_the_lan(user: LanUser, runtime: str) -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text()
    source = text.partition("```python\n")[2].partition("```")[0]
    (user.folder / "flood.py").write_text(source)
    user.up(runtime, "--protocol", "flood.py:Flood", "--membership", "static")

    user.do("publish", ".a.d.g")
    wait_until(lambda: user.delivered() == ALL_UP | {".a.b": 0}, "all whom it concerns have it")


def test_what_is_kept_of_a_lan_is_written_by_nobody_else(user: LanUser, state: Path) -> None:
    user.up()
    others = [
        path
        for path in (state, *state.rglob("*"))
        if not path.is_symlink() and path.lstat().st_mode & 0o022
    ]
    assert others == []
    assert state.stat().st_mode & 0o777 == 0o700
    assert (state / user.name).stat().st_uid == 0

    (state / user.name).chmod(0o777)
    try:
        assert "can be written by others" in refusal(user.call("status"))
    finally:
        (state / user.name).chmod(0o700)


def test_what_cannot_be_is_said_in_a_sentence(user: LanUser) -> None:
    def said(*arguments: str) -> str:
        done = user.call(*arguments)
        assert done.returncode == 2
        return refusal(done)

    assert "nowhere" in said("up", "--topology", "nowhere")
    assert "nonsense" in said("up", "--topology", "small.yaml", "--protocol", "nonsense")
    assert "there is no LAN called" in said("status")
    assert "there is no LAN called" in said("publish", ".a.d.g")
    assert user.do("down") == f"there is no LAN called {user.name}\n"
    assert "is for the simulator" in said("run", "camcast-table-1")


def test_without_root_it_is_said_in_a_sentence(tmp_path: Path) -> None:
    # What belongs to root may be out of a stranger's reach; this is about the command, not about it.
    for command in (["up"], ["run", "smoke"], ["down"], ["status"]):
        done = subprocess.run(
            [
                *("setpriv", "--reuid=65531", "--regid=65531", "--clear-groups"),
                *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
                *(sys.executable, "-m", "testbed", *command),
            ],
            cwd="/",
            env=os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "needs root" in refusal(done)
        assert done.stderr.count("\n") == 1


def test_ctrl_c_at_a_terminal_ends_up_in_a_word(user: LanUser, state: Path) -> None:
    """All processes in the foreground get it."""
    process = user.start("up", "--topology", "small.yaml", "--runtime", "namespace", session=True)
    wait_until((state / user.name / "root").exists, "machines are being started")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors == "testbed: interrupted\n"
    assert not (state / user.name).exists()


def test_an_interrupted_up_leaves_nothing(user: LanUser, state: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        process = user.start("up", "--topology", "small.yaml", "--runtime", "namespace")
        wait_until((state / user.name / "lan.json").exists, "the LAN stands")
        process.send_signal(number)
        _, errors = process.communicate()
        assert process.returncode == 130
        assert errors == "testbed: interrupted\n"
        assert not (state / user.name).exists()


def test_what_another_command_left_is_replaced(user: LanUser, state: Path) -> None:
    process = user.start("up", "--topology", "small.yaml", "--runtime", "namespace")
    wait_until((state / user.name / "lan.json").exists, "the LAN stands")
    process.kill()
    process.communicate()

    user.up()
    assert user.ask("status")["down"] == []
    entries = [
        json.loads(line) for line in (state / user.name / "ledger.jsonl").read_text().splitlines()
    ]
    assert len([entry for entry in entries if entry["kind"] == "group"]) == 1
