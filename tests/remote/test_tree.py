"""Our own code, packed and named by its content."""

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from agents.core.errors import LocalError
from testbed.remote.tree import pack


def test_the_same_files_have_the_same_name_wherever_they_lie(source: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(source, copy)
    (copy / "agents" / "__pycache__").mkdir(exist_ok=True)
    (copy / "agents" / "__pycache__" / "x.pyc").touch()
    (copy / "agents" / ".hidden").touch()
    (copy / "runs").mkdir()
    assert pack(copy) == pack(source)


def test_another_content_is_another_name_with_the_same_environments(
    source: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(source, copy)
    (copy / "agents" / "__init__.py").write_text("# changed\n")
    before, after = pack(source), pack(copy)
    assert after.name != before.name
    assert after.environments == before.environments
    (copy / "requirements" / "run.txt").write_text("# changed\n")
    assert pack(copy).environments != before.environments


def test_what_is_unpacked_runs(source: Path, tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(pack(source).archive)) as archive:
        archive.extractall(tmp_path, filter="data")
    done = subprocess.run(["bash", "-n", tmp_path / "bin" / "testbed"], check=False)
    assert done.returncode == 0
    assert (tmp_path / "bin" / "testbed").stat().st_mode & 0o100
    assert (tmp_path / "experiments").is_dir()


def test_without_a_launcher_there_is_nothing_to_send(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="has no bin/testbed"):
        pack(tmp_path)
