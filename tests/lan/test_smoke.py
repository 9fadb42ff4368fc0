"""The smoke cluster, as a project's continuous integration calls it."""

import xml.etree.ElementTree as ElementTree

import pytest

from tests.support.lan_user import LanUser

pytestmark = [pytest.mark.root, pytest.mark.slow]


HOPELESS = """\
name: hopeless
engine: lan
topology: small.yaml
protocol: camcast
membership: static
workload: [{topic: .a.d.g, at: 200ms}]
duration: 500ms
expect:
  - {metric: parasites, at_least: 1}
"""


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
    (user.folder / "hopeless.yaml").write_text(HOPELESS)

    done = user.call(
        "run", "hopeless.yaml", "--runtime", "namespace", "--junit", "out.xml", "--no-report"
    )

    assert done.returncode == 1
    sentence = "parasites over all communities is 0, expected at least 1"
    assert sentence in done.stderr
    (failure,) = ElementTree.parse(user.folder / "out.xml").getroot().iter("failure")
    assert sentence in str(failure.get("message"))
