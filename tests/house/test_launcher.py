"""The launcher, run for real on a small copy of the repository that locks no packages."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
# bin/test made the environment these tests run in, and uv beside it.
UV_HOME = Path(sys.prefix).parent / "uv"
SET_UP_FAILED = 3

STAND_IN_PROGRAM = """
import json, os, sys
import agents
print(json.dumps({
    "arguments": sys.argv[1:],
    "folder": os.getcwd(),
    "package": __file__,
    "agents": agents.__file__,
    "python": sys.executable,
}))
sys.exit(int(os.environ.get("STAND_IN_EXIT_CODE", "0")))
"""

needs_uv = pytest.mark.skipif(
    not (UV_HOME / "stamp").exists(), reason="needs the environment that bin/test makes"
)


class Copy:
    """A copy of the repository's house around a stand-in for the command-line tool."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.launcher = root / "bin" / "testbed"
        self.environments = root / ".venv"
        shutil.copytree(REPOSITORY / "bin", root / "bin")
        (root / "requirements").mkdir()
        shutil.copy(REPOSITORY / "requirements" / "uv.txt", root / "requirements")
        self.lock("# no packages\n")
        self.environments.mkdir()
        (self.environments / "uv").symlink_to(UV_HOME)
        for package in ("agents", "testbed"):
            (root / package).mkdir()
            (root / package / "__init__.py").touch()
        (root / "testbed" / "__main__.py").write_text(STAND_IN_PROGRAM)

    def lock(self, requirements: str) -> None:
        (self.root / "requirements" / "run.txt").write_text(requirements)

    def start(
        self,
        *arguments: str,
        launcher: Path | None = None,
        cwd: Path | None = None,
        **variables: str,
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [launcher or self.launcher, *arguments],
            cwd=cwd or self.root,
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        *arguments: str,
        launcher: Path | None = None,
        cwd: Path | None = None,
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, launcher=launcher, cwd=cwd, **variables)
        stdout, stderr = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def seen_by_program(result: subprocess.CompletedProcess[str]) -> dict[str, str]:
    assert result.returncode == 0, result.stderr
    seen: dict[str, str] = json.loads(result.stdout)
    return seen


@pytest.fixture
def fresh_copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path / "repository with a space")


@pytest.fixture(scope="module")
def ready_copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    copy = Copy(tmp_path_factory.mktemp("ready") / "repository")
    seen_by_program(copy.run())
    return copy


@needs_uv
class TestRunningTheCommand:
    def test_arguments_pass_through_unchanged(self, ready_copy: Copy) -> None:
        arguments = ["simulate", "a file.yaml", "--seed=1", "", "*", "--", "-x"]
        assert seen_by_program(ready_copy.run(*arguments))["arguments"] == arguments

    @pytest.mark.parametrize(
        "options",
        [
            ["--on", "me@there"],
            ["--on=me@there", "--resume"],
            ["--identity", "simulate", "--on", "me@there"],
        ],
    )
    def test_what_runs_on_another_machine_needs_here_only_the_way_there(
        self, ready_copy: Copy, options: list[str]
    ) -> None:
        (ready_copy.root / "requirements" / "lan.txt").write_text("# no packages\n")
        seen = seen_by_program(ready_copy.run(*options, "reproduce"))
        assert Path(seen["python"]).parts[-3:] == ("lan", "bin", "python")
        assert seen["arguments"] == [*options, "reproduce"]

    def test_exit_code_passes_through(self, ready_copy: Copy) -> None:
        assert ready_copy.run(STAND_IN_EXIT_CODE="42").returncode == 42

    def test_it_says_nothing_of_its_own_once_set_up(self, ready_copy: Copy) -> None:
        assert ready_copy.run().stderr == ""

    def test_it_runs_from_another_folder_and_stays_there(
        self, ready_copy: Copy, tmp_path: Path
    ) -> None:
        seen = seen_by_program(ready_copy.run(cwd=tmp_path))
        assert Path(seen["folder"]) == tmp_path
        assert Path(seen["package"]).is_relative_to(ready_copy.root)

    def test_it_runs_through_a_chain_of_links(self, ready_copy: Copy, tmp_path: Path) -> None:
        (tmp_path / "absolute").symlink_to(ready_copy.launcher)
        (tmp_path / "relative").symlink_to("absolute")
        seen = seen_by_program(ready_copy.run(launcher=tmp_path / "relative", cwd=tmp_path))
        assert Path(seen["package"]).is_relative_to(ready_copy.root)

    def test_the_callers_files_do_not_shadow_packages(
        self, ready_copy: Copy, tmp_path: Path
    ) -> None:
        (tmp_path / "testbed.py").write_text("raise SystemExit('shadowed')")
        (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
        (tmp_path / "agents").mkdir()
        (tmp_path / "agents" / "__init__.py").touch()
        seen = seen_by_program(ready_copy.run(cwd=tmp_path, PYTHONPATH=str(tmp_path)))
        assert Path(seen["agents"]).is_relative_to(ready_copy.root)


@needs_uv
class TestSettingUp:
    def test_a_half_made_environment_is_made_again(self, fresh_copy: Copy) -> None:
        left_over = fresh_copy.environments / "run" / "bin" / "python"
        left_over.parent.mkdir(parents=True)
        left_over.write_text("#!/bin/sh\nexit 99\n")
        left_over.chmod(0o755)
        assert seen_by_program(fresh_copy.run())["python"] == str(left_over)
        assert fresh_copy.run().stderr == ""

    def test_a_changed_lock_is_installed(self, fresh_copy: Copy) -> None:
        seen_by_program(fresh_copy.run())
        fresh_copy.lock("# still no packages\n")
        assert "setting up" in fresh_copy.run().stderr
        assert fresh_copy.run().stderr == ""

    def test_an_interpreter_that_is_gone_is_replaced(self, fresh_copy: Copy) -> None:
        seen_by_program(fresh_copy.run())
        python = fresh_copy.environments / "run" / "bin" / "python"
        python.unlink()
        python.symlink_to("/usr/bin/python3.0")
        seen_by_program(fresh_copy.run())

    def test_the_second_of_two_waits_for_the_first(self, fresh_copy: Copy) -> None:
        with (fresh_copy.environments / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            waiting = fresh_copy.start()
            assert waiting.stderr is not None
            assert "waiting for another set-up" in waiting.stderr.readline()
        _, stderr = waiting.communicate(timeout=60)
        assert waiting.returncode == 0, stderr

    def test_two_at_once_set_up_once(self, fresh_copy: Copy) -> None:
        both = [fresh_copy.start(), fresh_copy.start()]
        messages = [process.communicate(timeout=60)[1] for process in both]
        assert [process.returncode for process in both] == [0, 0], messages
        assert sum("set-up took" in message for message in messages) == 1

    def test_an_unreachable_index_is_one_sentence_and_a_log(self, fresh_copy: Copy) -> None:
        fresh_copy.lock(f"absent==1.0 --hash=sha256:{'0' * 64}\n")
        nobody_listens = "http://127.0.0.1:9/simple"
        result = fresh_copy.run(UV_DEFAULT_INDEX=nobody_listens, UV_HTTP_RETRIES="0")
        assert result.returncode == SET_UP_FAILED
        last_line = result.stderr.splitlines()[-1]
        assert "cannot be reached" in last_line
        assert str(fresh_copy.environments / "setup.log") in last_line
        assert not (fresh_copy.environments / "run" / "stamp").exists()

    def test_a_missing_lock_file_is_one_sentence(self, fresh_copy: Copy) -> None:
        result = fresh_copy.run(TESTBED_ENVIRONMENT="unheard-of")
        assert result.returncode == SET_UP_FAILED
        assert result.stderr.count("\n") == 1
        assert "requirements/unheard-of.txt" in result.stderr


class TestLockFiles:
    LOCKS = sorted((REPOSITORY / "requirements").glob("*.txt"))

    @pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
    def test_every_package_has_a_version_and_hashes(self, lock: Path) -> None:
        logical_lines = lock.read_text().replace("\\\n", " ").splitlines()
        requirements = [
            line for line in logical_lines if line and not line.lstrip().startswith("#")
        ]
        assert requirements
        for requirement in requirements:
            assert re.match(r"[\w.-]+==[\w.]+ .*--hash=sha256:[0-9a-f]{64}", requirement)

    @pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
    def test_no_address_is_in_it(self, lock: Path) -> None:
        text = lock.read_text()
        assert "://" not in text
        assert not re.search(
            r"--(extra-)?index-url|--find-links|\b[\w-]+\.(org|com|io|net)\b", text
        )

    def test_what_is_tested_is_what_runs(self) -> None:
        def versions(name: str) -> set[str]:
            lock = (REPOSITORY / "requirements" / name).read_text()
            return set(re.findall(r"^[\w.-]+==[\w.]+", lock, re.MULTILINE))

        assert versions("run.txt") <= versions("dev.txt")
        assert versions("run.txt") <= versions("bench.txt")
