"""What words say of files."""

from pathlib import Path

import pytest

from testbed.remote.arguments import Words, is_wanted, understand

OPTIONS = {"--out": Path("runs"), "--junit": None}


def understood(folder: Path, *words: str) -> Words:
    return understand(words, OPTIONS, folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "runs" / "a" / "journal").mkdir(parents=True)
    (folder / "runs" / "a" / "manifest.json").write_text("{}")
    (folder / "runs" / "a" / "journal" / "x").touch()
    (folder / "mine.py").touch()
    (folder / "it.yaml").write_text("protocol: {name: mine.py:Mine}\ntopology: ../lan.yaml\n")
    (tmp_path / "lan.yaml").write_text("name: lan")
    return folder


def test_a_word_that_names_no_file_stays_as_it_is(folder: Path) -> None:
    words = ("simulate", "camcast", "--seed", "1", "/no/such/file", ".", "", "x" * 5000, "--", "-x")
    found = understood(folder, *words)
    assert found.under("/there") == [*words]
    assert found.sends == ()


def test_an_experiment_brings_the_files_that_it_names(folder: Path) -> None:
    found = understood(folder, "simulate", "it.yaml")
    assert found.under("/there") == ["simulate", "it.yaml"]
    assert found.sends == (folder / "it.yaml", folder / "mine.py", folder.parent / "lan.yaml")


def test_an_absolute_path_of_ours_gets_the_folder_there_in_front(folder: Path) -> None:
    out = f"{folder}/new"
    found = understood(folder, "simulate", f"{folder}/it.yaml", f"--out={out}", "--junit", out)
    assert found.under("/there") == [
        *("simulate", f"/there{folder}/it.yaml"),
        *(f"--out=/there{out}", "--junit", f"/there{out}"),
    ]


def test_a_class_in_a_file_is_a_file(folder: Path) -> None:
    found = understood(folder, "simulate", "x", "--protocol", f"{folder}/mine.py:Mine")
    assert found.sends == (folder / "mine.py",)
    assert found.under("/there")[-1] == f"/there{folder}/mine.py:Mine"


def test_a_runs_folder_goes_whole_and_any_other_folder_stays(folder: Path) -> None:
    assert understood(folder, "analyze", "runs/a").sends == (
        folder / "runs/a/journal/x",
        folder / "runs/a/manifest.json",
    )
    assert understood(folder, "publish", ".", "runs").sends == ()


def test_what_is_run_on_a_host_of_the_lan_is_no_file_of_ours(folder: Path) -> None:
    words = ("exec", "pc-1", "cat", f"{folder}/it.yaml")
    assert understood(folder, *words) == Words(tuple((word, "") for word in words), (), ())


def test_results_may_come_back_where_the_command_was_to_write(folder: Path) -> None:
    assert understood(folder, "simulate", "x").places == (folder / "runs",)
    places = understood(folder, "simulate", "x", "--out", "../new", "--junit=j.xml").places
    assert places == (folder.parent / "new", folder / "j.xml")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/work/runs/a/journal/x", True),
        ("/work/j.xml", True),
        ("/work/runs-of-others/x", False),
        ("/work/j.xml.sh", False),
        ("/etc/passwd", False),
        ("/work/runs/../.ssh/authorized_keys", False),
        ("/work/runs/.profile", False),
        ("/work/runs/.hidden/x", False),
    ],
)
def test_a_machine_may_write_nothing_else(path: str, wanted: bool) -> None:
    assert is_wanted(Path(path), [Path("/work/runs"), Path("/work/j.xml")]) is wanted
