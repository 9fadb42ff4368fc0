"""`testbed protocols`, run for real."""

from pathlib import Path

from agents.core.registry import memberships, protocols
from tests.support.command_line import refusal, run


def test_everything_that_can_be_run_is_listed_with_its_defaults(tmp_path: Path) -> None:
    done = run(tmp_path, "protocols")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    middle = lines.index("memberships")
    assert lines[0] == "protocols"
    assert [line.split(":")[0].strip() for line in lines[1:middle]] == protocols.names()
    assert [line.split(":")[0].strip() for line in lines[middle + 1 :]] == memberships.names()
    assert "  gossip-broadcast: c=5.0" in lines
    assert "  static: no parameters" in lines


def test_a_package_that_cannot_be_imported_does_not_hide_the_others(tmp_path: Path) -> None:
    offers = tmp_path / "broken-1.0.dist-info"
    offers.mkdir()
    (offers / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (offers / "entry_points.txt").write_text("[testbed.protocols]\nbroken = no_such_module:X\n")
    done = run(tmp_path, "protocols", packages=tmp_path)
    assert done.returncode == 0
    assert "  broken: protocol 'broken' (no_such_module:X) cannot be imported" in done.stdout
    assert "  gossip-broadcast: c=5.0" in done.stdout.splitlines()


def test_a_parameter_without_a_default_is_named_alone(tmp_path: Path) -> None:
    (tmp_path / "needy.py").write_text(
        "from agents.core.protocol import Parameters, Protocol\n"
        "class Needs(Parameters, frozen=True):\n"
        "    fanout: int\n"
        "class Needy(Protocol):\n"
        "    name = 'needy'\n"
        "    Parameters = Needs\n"
        "    messages = ()\n"
    )
    offers = tmp_path / "needy-1.0.dist-info"
    offers.mkdir()
    (offers / "METADATA").write_text("Metadata-Version: 2.1\nName: needy\nVersion: 1.0\n")
    (offers / "entry_points.txt").write_text("[testbed.protocols]\nneedy = needy:Needy\n")
    done = run(tmp_path, "protocols", packages=tmp_path)
    assert "  needy: fanout" in done.stdout.splitlines()


def test_it_takes_no_arguments(tmp_path: Path) -> None:
    done = run(tmp_path, "protocols", "camcast")
    assert done.returncode == 2
    assert "camcast" in refusal(done)


def test_a_command_that_does_not_exist_is_refused_in_a_sentence(tmp_path: Path) -> None:
    done = run(tmp_path, "simulat")
    assert done.returncode == 2
    assert "'simulat'" in refusal(done)


def test_without_a_command_the_commands_are_listed(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 2
    assert "simulate" in done.stdout
    assert "protocols" in done.stdout
