"""A full disk, no engine, damaged files, machines that others kill: a sentence, and no more harm."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest

from tests.support.command_line import refusal
from tests.support.lan_user import LanUser

pytestmark = [pytest.mark.root, pytest.mark.slow]


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    folder.mkdir(mode=0o700, exist_ok=True)
    options = f"size={kilobytes}k,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("kilobytes", [16, 40, 56])
def test_a_full_disk_is_told_and_nothing_is_left(
    user: LanUser, state: Path, kilobytes: int
) -> None:
    with small_disk(state, kilobytes):
        done = user.call("up", "--topology", "small.yaml", "--runtime", "namespace")
        assert done.returncode == 4
        assert "No space left on device" in refusal(done)
        assert str(state) in done.stderr
        assert not (state / user.name).exists()


def test_without_an_engine_it_is_said_how_to_start_one(
    user: LanUser, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{user.folder}/nobody.sock")
    done = user.call("up", "--topology", "small.yaml", "--runtime", "docker")
    assert done.returncode == 2
    assert "no Docker engine answers" in refusal(done)
    assert "dockerd" in done.stderr
    assert not (state / user.name).exists()


def test_damaged_files_are_named_and_the_lan_can_still_be_taken_down(
    user: LanUser, state: Path
) -> None:
    user.up()
    facts = state / user.name / "lan.json"
    facts.write_text(facts.read_text()[:100])
    for command in (["status"], ["publish", ".a"], ["up", "--topology", "small.yaml"]):
        done = user.call(*command)
        assert done.returncode == 2
        assert str(facts) in refusal(done)
        assert "testbed down" in done.stderr

    ledger = state / user.name / "ledger.jsonl"
    whole = ledger.read_text()
    ledger.write_text("not a line\n" + whole)
    done = user.call("down")
    assert done.returncode == 2
    assert f"{ledger}:1:" in refusal(done)
    ledger.write_text(whole)


def test_a_machine_that_others_killed_is_down_and_comes_back(user: LanUser, state: Path) -> None:
    user.up()
    os.kill(first_process(state / user.name, 2), signal.SIGKILL)
    user.wait_for(down=[1, 5])
    assert user.ask("restart") == {"restarted": [1, 5]}
    os.kill(first_process(state / user.name, 2), signal.SIGKILL)


def first_process(lan: Path, host: int) -> int:
    """Of a machine, as the system numbers it."""
    noted = map(json.loads, (lan / "ledger.jsonl").read_text().splitlines())
    return int(
        [one["pid"] for one in noted if one["kind"] == "process" and one["host"] == host][-1]
    )


@pytest.mark.docker
def test_a_container_that_others_killed_or_removed_does_no_harm(user: LanUser, engine: str) -> None:
    user.up("docker")
    client = docker.APIClient(base_url=engine, version="auto")
    client.kill(f"testbed-{user.name}-pc2")
    user.wait_for(down=[1, 5])
    assert user.ask("restart", "--host", "pc2") == {"restarted": [1, 5]}
    client.remove_container(f"testbed-{user.name}-pc3", force=True)
    client.close()
    user.wait_for(down=[2, 6])
    assert "is gone" in refusal(user.call("restart"))
