"""The base of the containers' image: a small root with Python.

A registry's slim Python where one answers, else a Debian made with debootstrap from the mirror that
this machine's apt uses. That one is packed and kept, so that another engine need not make it again.
"""

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, ImageNotFound

from agents.core.errors import LocalError
from testbed.lan.runtimes import Progress, find_program
from testbed.lan.state import cache_folder

RECIPE = Path(__file__).parents[2] / "images" / "base.sh"
REGISTRY_TIMEOUT_S = 10.0
"""How long a registry has to say its first word; ours."""

RECIPE_LABEL = "testbed.recipe"
CONTENT_LABEL = "testbed.content"
PYTHON_LABEL = "testbed.python"


@dataclass(frozen=True)
class Base:
    """An image that the engine has: its name, a digest of what is in it, its Python's version."""

    image: str
    content: str
    python: str


def ensure_base(api: docker.APIClient, progress: Progress) -> Base:
    """Find a base in the engine, or bring one into it."""
    return _find(api) or _pull(api, progress) or _import(api, progress)


def own_python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _registry_name() -> tuple[str, str]:
    return "python", f"{own_python()}-slim"


def _find(api: docker.APIClient) -> Base | None:
    try:
        found = api.inspect_image(":".join(_registry_name()))
    except ImageNotFound:
        pass
    else:
        digests = found.get("RepoDigests") or [found["Id"]]
        return Base(":".join(_registry_name()), digests[0].rpartition("@")[2], own_python())
    for image in api.images(filters={"label": f"{RECIPE_LABEL}={_recipe()}"}):
        for tag in image.get("RepoTags") or []:
            if tag.startswith("testbed-base:"):
                labels = image["Labels"]
                return Base(tag, labels[CONTENT_LABEL], labels[PYTHON_LABEL])
    return None


def _pull(api: docker.APIClient, progress: Progress) -> Base | None:
    """Ask the registry; one that is slow to say anything counts as none."""
    repository, tag = _registry_name()
    progress(f"asking a registry for {repository}:{tag}", 0, 0)
    heard = threading.Event()
    failed = threading.Event()

    def pull() -> None:
        try:
            for line in api.pull(repository, tag=tag, stream=True, decode=True):
                if "error" in line:
                    break
                if "id" in line and not failed.is_set():
                    heard.set()
                    progress(f"fetching {repository}:{tag}: {line.get('status', '')}", 0, 0)
            else:
                return
        except (APIError, OSError):
            pass
        failed.set()
        heard.set()

    thread = threading.Thread(target=pull, daemon=True)
    thread.start()
    if heard.wait(REGISTRY_TIMEOUT_S) and not failed.is_set():
        thread.join()
    return None if failed.is_set() else _find(api)


def _import(api: docker.APIClient, progress: Progress) -> Base:
    with _cache(progress) as cache:
        archive = cache / f"base-{_recipe()}.tar"
        about = archive.with_suffix(".json")
        if not about.exists():
            facts = _make(archive, cache, progress)
            unfinished = about.with_suffix(".part")
            unfinished.write_text(json.dumps(facts))
            unfinished.replace(about)
        facts = json.loads(about.read_text())
        progress("bringing the base image into the engine", 0, 0)
        tag = facts["content"][:12]
        labels = {
            RECIPE_LABEL: _recipe(),
            CONTENT_LABEL: facts["content"],
            PYTHON_LABEL: facts["python"],
        }
        answer = api.import_image_from_file(
            str(archive),
            repository="testbed-base",
            tag=tag,
            changes=[f"LABEL {name}={value}" for name, value in labels.items()],
        )
    if '"error"' in answer:
        raise LocalError(f"the engine did not take the base image: {answer.strip()}")
    return Base(f"testbed-base:{tag}", facts["content"], facts["python"])


@contextmanager
def _cache(progress: Progress) -> Iterator[Path]:
    """The folder of what is kept, for one command at a time; what a killed one left is deleted."""
    folder = cache_folder()
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another command that makes the base image", 0, 0)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in folder.glob("build-*"):
            shutil.rmtree(left)
        yield folder
    finally:
        os.close(lock)


def _make(archive: Path, cache: Path, progress: Progress) -> dict[str, Any]:
    find_program("debootstrap", "debootstrap")
    suite = _suite()
    mirror = _mirror(suite)
    build = Path(tempfile.mkdtemp(prefix="build-", dir=cache))
    try:
        packed = build / "base.tar"
        _run_recipe([suite, mirror, str(build / "root"), str(packed)], progress)
        versions = sorted((build / "root" / "usr" / "bin").glob("python3.[0-9]*"))
        packed.replace(archive)
    finally:
        shutil.rmtree(build)
    with archive.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return {"content": content, "python": versions[-1].name.removeprefix("python")}


def _run_recipe(arguments: list[str], progress: Progress) -> None:
    """In namespaces of its own: its mounts and processes end with it, and it ends with us."""
    contained = ["setpriv", "--pdeathsig", "KILL"]
    contained += ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL"]
    process = subprocess.Popen(
        [*contained, str(RECIPE), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | _proxies(),
    )
    assert process.stdout is not None
    last = ""
    with process:
        for number, line in enumerate(process.stdout):
            last = line.strip() or last
            progress(f"making a base image, once: {last.removeprefix('I: ')}", number, 0)
    if process.returncode != 0:
        raise LocalError(
            f"no registry answered, and debootstrap could not make a base image ({last}): check "
            "the network and apt's mirror, or take --runtime namespace"
        )


def _recipe() -> str:
    """Says how a base was made."""
    parts = [RECIPE.read_text(), _suite(), platform.machine()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _suite() -> str:
    try:
        return platform.freedesktop_os_release()["VERSION_CODENAME"]
    except (OSError, KeyError):
        return "stable"


def _mirror(suite: str) -> str:
    """Where this machine's apt gets the suite from."""
    command = ["apt-get", "indextargets", "--format", "$(RELEASE) $(COMPONENT) $(SITE)"]
    try:
        done = subprocess.run(
            [*command, "Created-By: Packages"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        raise LocalError(
            "no registry answers, and a base image is made on Debian and Ubuntu only: load "
            f"{':'.join(_registry_name())} into the engine, or take --runtime namespace"
        ) from None
    for line in done.stdout.splitlines():
        if found := re.fullmatch(rf"{re.escape(suite)} main (.+)", line):
            return found[1]
    raise LocalError(
        f"apt has no source for {suite} main, of which the base image is made: add one to "
        "/etc/apt/sources.list, or take --runtime namespace"
    )


def _proxies() -> dict[str, str]:
    """The proxies that apt is set to use."""
    found = {}
    for scheme in ("http", "https"):
        command = ["apt-config", "shell", "PROXY", f"Acquire::{scheme}::Proxy"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if proxy := re.fullmatch(r"PROXY='(.+)'\n", done.stdout):
            found[f"{scheme}_proxy"] = proxy[1]
    return found
