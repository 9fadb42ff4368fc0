"""Control groups: of both versions where there are both, and what is not in ours survives."""

import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.lan.ledger import Ledger
from testbed.lan.runtimes.cgroups import Group, Hierarchy, find_hierarchies
from testbed.lan.runtimes.namespace import NamespaceRuntime
from testbed.lan.state import folder_of
from tests.lan.runtimes.test_runtimes import machines

SLEEP = 'for folder; do echo 0 >"$folder/cgroup.procs"; done; sleep 1000 & echo; exec sleep 1000'


@pytest.fixture
def group() -> Iterator[Group]:
    group = Group.called(f"testbed-tried-{secrets.token_hex(4)}")
    yield group
    group.remove()


def sleepers_in(group: Group) -> subprocess.Popen[bytes]:
    """A process in the group, and its child."""
    folders = map(str, group.folders)
    process = subprocess.Popen(["sh", "-c", SLEEP, "sh", *folders], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def end(process: subprocess.Popen[bytes]) -> int:
    with process:
        process.kill()
    return process.returncode


class TestFindingHierarchies:
    def test_only_those_of_use_are_taken_and_each_once(self, tmp_path: Path) -> None:
        mounts = tmp_path / "mounts"
        lines = [
            f"cgroup {tmp_path} cgroup rw,relatime,cpu,cpuacct 0 0",
            "proc /proc proc rw 0 0",
            f"cgroup {tmp_path}/gone cgroup rw,pids 0 0",
        ]
        mounts.write_text("\n".join(lines) + "\n")
        assert find_hierarchies(mounts) == []
        mounts.write_text(f"cgroup {tmp_path} cgroup rw,memory 0 0\n" * 2)
        assert find_hierarchies(mounts) == [Hierarchy(tmp_path, 1, frozenset({"memory"}))]

    def test_version_2_says_its_controllers_in_a_file(self, tmp_path: Path) -> None:
        root = tmp_path / "with space"
        root.mkdir()
        (root / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
        mounts = tmp_path / "mounts"
        mounts.write_text(f"cgroup2 {tmp_path}/with\\040space cgroup2 rw 0 0\n")
        assert find_hierarchies(mounts) == [Hierarchy(root, 2, frozenset({"memory", "pids"}))]


@pytest.mark.root
class TestGroups:
    def test_removing_one_kills_what_is_in_it_and_in_those_inside_it(self, group: Group) -> None:
        group.make()
        inner = group.within("inner")
        inner.make()
        outer_one, inner_one = sleepers_in(group), sleepers_in(inner)
        assert len(group.processes()) == 4
        group.remove()
        assert end(outer_one) == end(inner_one) == -9
        assert not any(folder.exists() for folder in group.folders)

    @pytest.mark.parametrize("version", [1, 2])
    def test_either_version_alone_will_do(self, version: int) -> None:
        folders = [one.folder for one in find_hierarchies() if one.version == version]
        if not folders:
            pytest.skip(f"this system has no control groups of version {version}")
        group = Group(folder / f"testbed-tried-{secrets.token_hex(4)}" for folder in folders)
        group.make()
        process = sleepers_in(group)
        assert len(group.processes()) == 2
        group.remove()
        assert end(process) == -9

    def test_limits_hold(self, group: Group) -> None:
        group.make()
        group.pass_on_controllers()
        inner = group.within("inner")
        inner.make()
        inner.limit(memory_mb=32, pids=5)
        limits = inner.limits()
        assert limits["pids.max"] == "5"
        assert str(32 << 20) in (limits.get("memory.max"), limits.get("memory.limit_in_bytes"))

    def test_one_that_is_there_already_is_not_taken(self, group: Group) -> None:
        group.make()
        with pytest.raises(FileExistsError):
            group.make()

    def test_one_that_was_never_made_is_removed_without_a_word(self, group: Group) -> None:
        group.remove()
        group.remove()

    def test_a_users_own_group_process_and_namespace_survive(
        self, group: Group, state: Path
    ) -> None:
        group.make()
        theirs = sleepers_in(group)
        network = subprocess.Popen(["unshare", "--net", "sleep", "1000"])
        ledger = Ledger.create(folder_of(f"t{secrets.token_hex(4)}"))
        runtime = NamespaceRuntime(ledger.folder.name, ledger)
        runtime.start(machines(ledger, 2))
        runtime.remove_all()
        assert len(group.processes()) == 2
        assert theirs.poll() is None
        assert network.poll() is None
        network.kill()
        network.wait()
        group.kill()
        end(theirs)
