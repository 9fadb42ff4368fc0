"""What a LAN could leave on a computer, found without asking the code that makes it.

Two pictures are taken, before and after; what is only in the second was left. To be taken in a world
of one's own: everybody else's comings and goings would be in them.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import docker

Traces = set[str]
"""One sentence a thing."""

MOUNT = "mount"


def left_and_lost(before: Traces, after: Traces) -> tuple[list[str], list[str]]:
    """What is there and was not, and what was there and is not. A mount goes from this world, too,
    when somebody elsewhere deletes the folder where it is."""
    lost = sorted(one for one in before - after if not one.startswith(MOUNT))
    return sorted(after - before), lost


def traces(state: Path, cgroups_marked: str, engine: str | None) -> Traces:
    """`cgroups_marked` is in the names of all control groups that are looked at, for they are the
    computer's and not this world's alone."""
    found = {*_processes(), *_interfaces(), *_namespaces(), *_tables(), *_mounts()}
    found |= {*_control_groups(cgroups_marked), *_folders(state)}
    return found | set(_containers(engine) if engine else ())


def _numbered() -> Iterator[Path]:
    yield from (path for path in Path("/proc").iterdir() if path.name.isdigit())


def _processes() -> Iterator[str]:
    for path in _numbered():
        try:
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if state not in "ZX":
            yield f"process {path.name}: {command[:100]}"


def _namespaces() -> Iterator[str]:
    for path in _numbered():
        for task in (path / "task").glob("*/ns/net"):
            try:
                yield f"network namespace {os.readlink(task)}"
            except OSError:
                continue


def _mounts() -> Iterator[str]:
    """Those that keep a namespace are among them."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        _, _, _, root, folder, *_ = line.split()
        kind = line.partition(" - ")[2].split()[0]
        yield f"{MOUNT} of {kind} {root} on {folder}"


def _interfaces() -> Iterator[str]:
    answer = subprocess.run(["ip", "-json", "link"], capture_output=True, check=True).stdout
    for link in json.loads(answer):
        yield f"interface {link['ifname']}"


def _tables() -> Iterator[str]:
    answer = subprocess.run(["nft", "list", "tables"], capture_output=True, check=True, text=True)
    for line in answer.stdout.splitlines():
        yield f"nftables {line}"


def _control_groups(marked: str) -> Iterator[str]:
    for folder, inner, _ in os.walk("/sys/fs/cgroup"):
        for name in inner:
            if marked in name or marked in folder:
                yield f"control group {folder}/{name}"


def _folders(state: Path) -> Iterator[str]:
    for path in state.iterdir() if state.is_dir() else ():
        if path.name != ".cache":  # which is meant to stay
            yield f"folder {path}"


def _containers(engine: str) -> Iterator[str]:
    client = docker.APIClient(base_url=engine, version="auto")
    for container in client.containers(all=True):
        yield f"container {container['Names']} of image {container['Image']}"
    client.close()
