"""The ledger: what is noted is there after any end, and one command at a time holds a LAN."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agents.core.errors import LocalError
from testbed.lan.ledger import LanBusy, Ledger
from testbed.lan.state import folder_of, names_of_lans

HOLDER = """
import sys, time
from pathlib import Path
from testbed.lan.ledger import Ledger
with Ledger.create(Path(sys.argv[1])).hold():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(state: Path) -> Path:
    return folder_of("a-lan")


def hold_elsewhere(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


class TestNotes:
    def test_what_is_noted_is_read_again_in_order(self, folder: Path) -> None:
        ledger = Ledger.create(folder)
        ledger.note("bridge", name="b1")
        ledger.note_all("veth", [{"name": "v1"}, {"name": "v2"}])
        assert Ledger.open(folder).entries() == [
            {"kind": "bridge", "name": "b1"},
            {"kind": "veth", "name": "v1"},
            {"kind": "veth", "name": "v2"},
        ]
        assert [entry["name"] for entry in ledger.entries("veth")] == ["v1", "v2"]

    def test_a_torn_last_line_is_forgotten_and_notes_go_on(self, folder: Path) -> None:
        first = Ledger.create(folder)
        first.note("bridge", name="b1")
        first.close()
        with first.path.open("a") as file:
            file.write('{"kind": "bri')
        second = Ledger.open(folder)
        assert second.entries() == [{"kind": "bridge", "name": "b1"}]
        second.note("bridge", name="b2")
        assert [entry["name"] for entry in second.entries()] == ["b1", "b2"]

    def test_a_damaged_line_is_named(self, folder: Path) -> None:
        ledger = Ledger.create(folder)
        ledger.path.write_text('{"kind": "a"}\n[1]\n')
        with pytest.raises(LocalError, match=r"ledger\.jsonl:2: this line is damaged"):
            ledger.entries()

    def test_a_note_is_there_although_the_writer_was_killed_right_after_it(
        self, folder: Path
    ) -> None:
        program = (
            "import os, sys, signal; from pathlib import Path\n"
            "from testbed.lan.ledger import Ledger\n"
            "ledger = Ledger.create(Path(sys.argv[1]))\n"
            "for number in range(100): ledger.note('thing', number=number)\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        done = subprocess.run([sys.executable, "-c", program, str(folder)], check=False)
        assert done.returncode == -signal.SIGKILL
        assert [entry["number"] for entry in Ledger.open(folder).entries()] == list(range(100))

    def test_what_is_emptied_is_still_held(self, folder: Path) -> None:
        ledger = Ledger.create(folder)
        with ledger.hold():
            ledger.note("thing")
            (folder / "hosts").mkdir()
            ledger.empty()
            assert [path.name for path in folder.iterdir()] == ["holder.json"]
            ledger.note("another")
            assert [entry["kind"] for entry in ledger.entries()] == ["another"]

    def test_removing_a_lan_leaves_nothing(self, folder: Path) -> None:
        ledger = Ledger.create(folder)
        with ledger.hold():
            ledger.note("thing")
            (folder / "hosts" / "h1").mkdir(parents=True)
            (folder / "hosts" / "h1" / "link").symlink_to("/etc")
            ledger.remove()
        assert not folder.exists()


class TestHolding:
    def test_the_second_is_told_who_holds_it(self, folder: Path) -> None:
        holder = hold_elsewhere(folder)
        with pytest.raises(LanBusy) as refused, Ledger.open(folder).hold():
            pass
        assert f"(pid {holder.pid}: testbed" in str(refused.value)
        assert "is at work on LAN a-lan" in str(refused.value)
        holder.communicate("")

    def test_it_is_free_when_the_holder_was_killed(self, folder: Path) -> None:
        holder = hold_elsewhere(folder)
        holder.kill()
        holder.communicate()
        with Ledger.open(folder).hold():
            assert json.loads((folder / "holder.json").read_text())["pid"] == os.getpid()

    def test_programs_that_the_holder_starts_do_not_hold_it_too(self, folder: Path) -> None:
        ledger = Ledger.create(folder)
        with ledger.hold():
            ledger.note("thing")
            started = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        with Ledger.open(folder).hold():
            pass
        started.communicate()

    def test_a_lan_of_which_nothing_was_made_leaves_no_folder(self, folder: Path) -> None:
        with Ledger.create(folder).hold():
            pass
        assert not folder.exists()

    def test_a_lan_that_was_removed_meanwhile_can_be_held_again(self, folder: Path) -> None:
        waiting = Ledger.create(folder)
        other = Ledger.create(folder)
        with other.hold():
            other.remove()
        with waiting.hold():
            waiting.note("thing")
        assert len(waiting.entries()) == 1


class TestTheStateFolder:
    def test_nobody_else_can_look_into_it(self, folder: Path) -> None:
        ledger = Ledger.create(folder)
        ledger.note("thing")
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600

    @pytest.mark.parametrize("which", ["a-lan", "."])
    def test_one_that_others_can_write_is_refused(self, folder: Path, which: str) -> None:
        Ledger.create(folder)
        (folder.parent / which).chmod(0o777)
        for take in (Ledger.create, Ledger.open):
            with pytest.raises(LocalError, match="can be written by others"):
                take(folder)

    @pytest.mark.root
    def test_one_of_somebody_else_is_refused(self, folder: Path) -> None:
        Ledger.create(folder)
        os.chown(folder, 1000, 1000)
        with pytest.raises(LocalError, match="belongs to user 1000"):
            Ledger.open(folder)

    def test_one_that_leads_elsewhere_is_refused(self, folder: Path, tmp_path: Path) -> None:
        Ledger.create(folder)
        folder.rmdir()
        folder.symlink_to(tmp_path)
        with pytest.raises(LocalError, match="is no folder"):
            Ledger.create(folder)

    def test_a_lan_that_is_not_there_is_said_to_be_so(self, folder: Path) -> None:
        with pytest.raises(LocalError, match="there is no LAN called a-lan"):
            Ledger.open(folder)

    def test_lans_are_listed_and_what_is_kept_for_all_is_none(self, folder: Path) -> None:
        assert names_of_lans() == []
        Ledger.create(folder)
        Ledger.create(folder_of("other"))
        (folder.parent / ".cache").mkdir()
        assert names_of_lans() == ["a-lan", "other"]

    @pytest.mark.parametrize("name", ["", "..", "a/b", "-a", "a-", "A", "x" * 31, "a b"])
    def test_names_that_could_do_harm_are_refused(self, state: Path, name: str) -> None:
        with pytest.raises(LocalError, match="cannot be a LAN's name"):
            folder_of(name)
