"""The smoke cluster, as a project's continuous integration calls it."""

import xml.etree.ElementTree as ElementTree

import pytest

from tests.support.command_line import REPOSITORY
from tests.support.lan_user import LanUser

pytestmark = [pytest.mark.root, pytest.mark.slow]


def test_the_smoke_cluster_is_judged_and_reported(user: LanUser, runtime: str) -> None:
    said = user.do("run", "smoke", "--runtime", runtime, "--junit", "smoke.xml")

    suite = ElementTree.parse(user.folder / "smoke.xml").getroot()
    cases = list(suite.iter("testcase"))
    assert len(cases) == 3
    assert not list(suite.iter("failure"))
    (run,) = (user.folder / "runs").iterdir()
    assert (run / "report.html").stat().st_size > 10_000
    assert str(run.relative_to(user.folder)) in said


def test_what_is_not_as_expected_fails_with_what_was_measured(user: LanUser) -> None:
    text = (REPOSITORY / "experiments" / "smoke.yaml").read_text()
    text = text.replace("{metric: parasites, equals: 0}", "{metric: parasites, at_least: 1}")
    (user.folder / "hopeless.yaml").write_text(text.replace("name: smoke", "name: hopeless", 1))

    done = user.call(
        "run", "hopeless.yaml", "--runtime", "namespace", "--junit", "out.xml", "--no-report"
    )

    assert done.returncode == 1
    assert "parasites" in done.stdout
    (failure,) = ElementTree.parse(user.folder / "out.xml").getroot().iter("failure")
    assert "measured 0" in (failure.get("message") or "") + (failure.text or "")
