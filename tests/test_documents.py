"""What README and CONTRIBUTING show is true: their examples run, their links lead somewhere."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.model import load_experiment, parse_topology
from tests.support.command_line import REPOSITORY, run

DOCUMENTS = sorted(REPOSITORY.glob("*.md"))
README = (REPOSITORY / "README.md").read_text()
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text()


def blocks(document: str, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def block_with(document: str, language: str, words: str) -> str:
    (found,) = (text for text in blocks(document, language) if words in text)
    return found


def commands(document: str) -> list[list[str]]:
    """Every `bin/…` with its arguments, in blocks of commands and within the prose."""
    lines = [line for block in blocks(document, "sh") for line in block.splitlines()]
    prose = re.sub(r"^```.*?^```$", "", document, flags=re.MULTILINE | re.DOTALL)
    lines += re.findall(r"`([^`]+)`", prose)
    named = (line.split("#")[0].split() for line in lines)
    return [words for words in named if words and re.fullmatch(r"bin/\w+", words[0])]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """README's experiment, as a file of the user's."""
    path = tmp_path / "half.yaml"
    path.write_text(block_with(README, "yaml", "name: half-the-roots-crash"))
    return path


@pytest.fixture
def flood(tmp_path: Path) -> Path:
    path = tmp_path / "flood.py"
    path.write_text(block_with(CONTRIBUTING, "python", "class Flood(Protocol)"))
    return path


def test_the_topology_to_begin_with_is_one() -> None:
    topology = parse_topology(block_with(CONTRIBUTING, "yaml", "name: two-rooms"))
    names = [host.name for host in topology.host_list()]

    assert names == ["desk1", "desk2", "desk3", "desk4", "bench"]
    assert topology.placement()[-1] == (4, 1)


# Links and commands.


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_to_one(path: Path) -> None:
    targets = re.findall(r"\]\(([^)]+)\)", path.read_text())
    files = [target.split("#")[0] for target in targets if "://" not in target]
    assert [name for name in files if not (REPOSITORY / name).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_program_that_is_named_is_there_to_be_run(path: Path) -> None:
    for words in commands(path.read_text()):
        program = REPOSITORY / words[0]
        assert program.is_file(), words
        assert program.stat().st_mode & 0o100, words


def test_every_command_and_option_that_readme_names_exists(tmp_path: Path) -> None:
    first = run(tmp_path, "--help")
    assert first.returncode == 0
    for_any_command = set(re.findall(r" (--[\w-]+) ", first.stdout))
    assert {"--on", "--resume", "--identity", "--remote-path"} <= for_any_command
    all_named = [words[1:] for words in commands(README) if words[0] == "bin/testbed"]
    for words in all_named:
        assert not words[0].startswith("--") or words[0] in for_any_command
    # An option before the command has a value here; what follows them is a command like the others.
    named = [words[2:] if words[0] == "--on" else words for words in all_named]
    named = [words for words in named if words[0] not in for_any_command]
    assert {"simulate", "analyze", "report", "reproduce"} <= {words[0] for words in named}
    helps: dict[str, str] = {}
    for command in {words[0] for words in named}:
        done = run(tmp_path, command, "--help")
        assert done.returncode == 0
        helps[command] = done.stdout
    for command, *words in named:
        for option in (word for word in words if word.startswith("--")):
            assert f" {option} " in helps[command]
    alone = set(re.findall(r"`(--[\w-]+)", README)) - for_any_command
    assert {"--check", "--journal", "--junit"} <= alone
    for option in alone:
        assert any(f" {option} " in text for text in helps.values())


def test_every_experiment_of_ours_is_in_readmes_table() -> None:
    table = README.split("| name | what |")[1].split("\n\n")[0]
    named = re.findall(r"`([\w-]+)`", table)
    assert sorted(named) == sorted(path.stem for path in (REPOSITORY / "experiments").iterdir())


# What is printed.


def test_the_table_in_readme_is_the_one_that_is_printed(tmp_path: Path) -> None:
    options = ("--repetitions", "1")
    done = run(tmp_path, "simulate", "camcast-table-1", *options)
    assert done.returncode == 0
    _title, printed, *rows = done.stdout.splitlines()
    header, *shown = block_with(README, "", "hierarchy    community").splitlines()
    assert header.split() == printed.split()
    assert [line.split()[:3] for line in shown[:3]] == [line.split()[:3] for line in rows[:3]]
    explained = re.findall(r"`(\w+)` (?:is )?the ", README)
    assert len(explained) == 5
    assert set(explained) <= set(printed.split())


def test_the_mistake_in_readme_is_refused_in_these_words(example: Path) -> None:
    text = example.read_text()
    example.write_text(text.replace("loss: [0, 0.15]", "loss: [0, 1.2]"))
    done = run(example.parent, "simulate", "half.yaml")
    assert done.returncode == 2
    assert done.stderr == block_with(README, "", "half.yaml:")


# What is run.


def test_the_experiment_in_readme_runs(example: Path) -> None:
    assert load_experiment(example).repetitions == 5
    done = run(example.parent, "simulate", "half.yaml", "--repetitions", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)["rows"]
    communities = [".soccer.italy", ".soccer", "."]
    assert [(row["point"], row["community"]) for row in rows] == [
        (point, community) for point in (0, 1) for community in communities
    ]
    assert all(row["reception"] > 0.5 for row in rows)


def test_the_application_in_readme_prints_what_its_comment_says(tmp_path: Path) -> None:
    program = block_with(README, "python", "SimulatedNetwork")
    said = program.splitlines()[-1].partition("  # ")[2]
    (tmp_path / "application.py").write_text(program)
    done = subprocess.run(
        [sys.executable, tmp_path / "application.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert said
    assert done.stdout == f"{said}\n"


def test_the_protocol_in_contributing_runs_from_a_file_and_reaches_everybody(
    flood: Path, example: Path
) -> None:
    # Nothing is lost and nobody crashes, so that whoever is not reached is the protocol's fault.
    text = re.sub(r"^(sweep|faults|  - \{kind).*\n", "", example.read_text(), flags=re.MULTILINE)
    example.write_text(text.replace("$loss", "0"))
    options = ("--protocol", "flood.py:Flood", "--repetitions", "1", "--json", "--check")
    done = run(flood.parent, "simulate", "half.yaml", *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "check: a second run gave the same 1 journals, byte for byte\n"
    rows = json.loads(done.stdout)["rows"]
    assert [row["community"] for row in rows] == [".soccer.italy", ".soccer", "."]
    assert all(row["reception"] == row["reliability"] == 1 for row in rows)


def test_the_protocol_in_contributing_is_found_by_its_name_once_it_is_registered(
    flood: Path, tmp_path: Path
) -> None:
    ours = tmp_path / "copy"
    for package in ("agents", "analysis", "testbed", "experiments"):
        shutil.copytree(REPOSITORY / package, ours / package)
    module = (
        flood.read_text()
        + "\n\nfrom agents.core.registry import protocols\n\nprotocols.register(Flood)\n"
    )
    (ours / "agents" / "protocols" / "flood.py").write_text(module)
    listed = run(tmp_path, "protocols", source=ours)
    assert "  flood: no parameters" in listed.stdout.splitlines()
    options = ("--protocol", "flood", "--repetitions", "1")
    done = run(tmp_path, "simulate", "camcast-table-1", *options, source=ours)
    assert (done.returncode, done.stderr) == (0, "")
