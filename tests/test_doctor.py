"""The doctor: says what it tried, and what to do about what is missing."""

import json
import os
import subprocess
import sys

import pytest

from testbed import doctor
from testbed.doctor import Check, checks, is_fit

NAMES = [
    *("root", "namespaces", "cgroups", "veth", "bridge", "TBF", "nftables", "netem", "HTB", "IFB"),
    *("Docker", "mnexec", "brctl", "iperf3", "debootstrap", "Java", "memory"),
]


def test_everything_is_tried_in_order() -> None:
    assert [check.name for check in checks()] == NAMES


def test_whatever_is_not_well_says_what_to_do() -> None:
    for check in checks():
        assert check.detail
        assert bool(check.remedy) == (not check.ok)


def test_a_computer_is_fit_when_nothing_needed_is_missing() -> None:
    well = Check("a", "ok", "found", needed=True)
    wanted = Check("b", "missing", "not found", "get it")
    unknown = Check("c", "unknown", "not tried", "be root", needed=True)
    assert is_fit([well, wanted])
    assert not is_fit([well, unknown])


@pytest.mark.root
def test_what_the_kernel_can_do_is_found_out_by_doing_it() -> None:
    found = {check.name: check for check in checks()}
    for name in ("root", "namespaces", "cgroups", "veth", "bridge", "TBF", "nftables"):
        assert found[name].ok, found[name]


def test_without_root_it_says_what_it_could_not_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = {check.name: check for check in checks()}
    assert found["root"].state == "missing"
    assert found["veth"].state == "unknown"
    assert "sudo" in found["veth"].remedy
    assert found["memory"].ok
    assert not is_fit(list(found.values()))


def test_programs_that_are_missing_are_named_with_their_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/socket")
    remedies = {check.name: check.remedy for check in checks()}
    assert remedies["mnexec"] == "apt-get install mininet"
    assert remedies["Docker"] == "apt-get install docker.io"
    assert remedies["Java"] == "apt-get install openjdk-17-jre-headless"


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "AGENT_MB", 1 << 30)
    (memory,) = (check for check in checks() if check.name == "memory")
    assert memory.state == "missing"


def test_the_command_prints_json_and_its_exit_code_is_the_verdict() -> None:
    command = [sys.executable, "-m", "testbed", "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    assert [check["name"] for check in said["checks"]] == NAMES
    assert done.returncode == (0 if said["fit"] else 1)
