"""The containers' image: a base with Python, and on it the agents and the package that they need.

Its tag is a digest of all that is in it, so that an image with the right tag is the right image. The
base takes long and changes seldom; the layer with the agents is made anew in seconds when their
code changes.
"""

import hashlib
import importlib.metadata
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import msgspec
from docker.errors import APIError, ImageNotFound

import agents
from agents.core.errors import LocalError
from testbed.lan.base_image import Base, ensure_base, own_python
from testbed.lan.runtimes import Progress, no_progress

DOCKERFILE = Path(__file__).parents[2] / "images" / "Dockerfile"
REPOSITORY = "testbed-agent"
OLDEST_PYTHON = (3, 11)

Files = dict[str, bytes]


def ensure_image(api: docker.APIClient, progress: Progress = no_progress) -> str:
    """The image's name; it is made if the engine does not have it."""
    base = ensure_base(api, progress)
    if tuple(map(int, base.python.split("."))) < OLDEST_PYTHON:
        raise LocalError(
            f"the base image has Python {base.python}, and agents need 3.11: load "
            f"python:{own_python()}-slim into the engine, or take --runtime namespace"
        )
    files = _context(base.python)
    image = f"{REPOSITORY}:{_digest(base, files)}"
    try:
        api.inspect_image(image)
    except ImageNotFound:
        progress(f"making the image {image}", 0, 0)
        _build(api, image, base, files)
    return image


def _context(python: str) -> Files:
    files = {"Dockerfile": DOCKERFILE.read_bytes()}
    files |= _package("agents", Path(agents.__file__).parent)
    with msgspec_for(python) as folder:
        files |= _package("msgspec", folder)
    return files


def _package(name: str, folder: Path) -> Files:
    return {
        f"python/{name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in (".pyc", ".pyi")
    }


@contextmanager
def msgspec_for(python: str) -> Iterator[Path]:
    """msgspec for a version of Python: our own, or the same release fetched for that one."""
    if python == own_python():
        yield Path(msgspec.__file__).parent
        return
    release = f"msgspec=={importlib.metadata.version('msgspec')}"
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
        command = [_python_with_pip(), "-m", "pip", "install", *options, "--target", folder]
        done = subprocess.run(
            [*command, "--python-version", python, release],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise LocalError(
                f"{release} for the image's Python {python} cannot be fetched "
                f"({done.stderr.strip().splitlines()[-1:]}): check the network and the package "
                "index, or take --runtime namespace"
            )
        yield Path(folder, "msgspec")


def _python_with_pip() -> str:
    """Our own environment has no pip; the one beside it that installed it has."""
    beside = Path(sys.prefix).parent / "uv" / "bin" / "python"
    return str(beside) if beside.exists() else "python3"


def _digest(base: Base, files: Files) -> str:
    digest = hashlib.sha256(base.content.encode())
    for name in sorted(files):
        for part in (name.encode(), files[name]):
            digest.update(len(part).to_bytes(8) + part)
    return digest.hexdigest()[:12]


def _build(api: docker.APIClient, image: str, base: Base, files: Files) -> None:
    try:
        lines = list(
            api.build(
                fileobj=io.BytesIO(_archive(files)),
                custom_context=True,
                tag=image,
                buildargs={"BASE": base.image},
                labels={"testbed.base": base.content},
                network_mode="none",
                rm=True,
                forcerm=True,
                decode=True,
            )
        )
    except APIError as error:
        raise LocalError(f"the engine could not make {image}: {error.explanation}") from None
    for line in lines:
        if "error" in line:
            raise LocalError(f"the engine could not make {image}: {line['error'].strip()}")


def _archive(files: Files) -> bytes:
    """The same bytes for the same files: no times, no owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in sorted(files):
            about = tarfile.TarInfo(name)
            about.size = len(files[name])
            about.mode = 0o644
            archive.addfile(about, io.BytesIO(files[name]))
    return buffer.getvalue()
