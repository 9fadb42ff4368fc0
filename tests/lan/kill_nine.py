"""Kill `up` and `run` without a warning at random moments, and see that `down` leaves nothing.

    PYTHONPATH=. python -m tests.lan.kill_nine --count 100 --runtime namespace

Each trial starts one of them, kills it at a moment drawn from its whole duration, calls `down`, and
compares what is on the computer with what was there before: processes, network namespaces,
interfaces, nftables' tables, mounts, control groups, containers, folders. All happens in namespaces of
the script's own, so that nothing else comes and goes there. Things of a user are there beside it, and
have to survive. It ends with 1 if anything was left or lost.
"""

import argparse
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import docker

from testbed.lan.image import ensure_base, ensure_image
from testbed.lan.interrupting import sigterm_interrupts
from testbed.lan.runtimes import no_progress
from testbed.lan.runtimes.docker import engine_address, engine_answers
from tests.support import command_line
from tests.support.engine import docker_engine
from tests.support.own_world import REPOSITORY, is_alone, reap_orphans, run_alone
from tests.support.traces import Traces, left_and_lost, traces
from tests.support.waiting import wait_until

ENGINE_DATA = REPOSITORY / ".venv" / "engine-alone"
"""It stays for the next time: the image above all."""

TOPOLOGY = """\
name: tiny
root: .a
switches: {lan: {}}
hosts: [{name: pc, count: 3, switch: lan, agents: 2, link: {rate: 100mbit}}]
communities: {.a.d: 4, .a: 2}
"""
EXPERIMENT = """\
name: tiny
engine: lan
topology: tiny.yaml
protocol: {name: camcast, c: 3, g: 8, a: 2, z: 3}
membership: {name: scamp, c: 1}
network: {loss: 0.05}
bootstrap: {contacts: 1, super_contacts: 2}
workload: [{topic: .a.d, at: 500ms, count: 3, every: 100ms}]
faults: [{kind: crash, at: 600ms, count: 1}]
duration: 1s
repetitions: 2
"""
GONE_WITHIN_S = 30.0
"""What the kernel and the engine still clear away themselves; only what stays counts as left."""


@dataclass
class Scene:
    """Where the trials happen."""

    folder: Path
    name: str
    runtime: str
    engine: str | None

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def start(self, command: str) -> subprocess.Popen[str]:
        what = {
            "up": ("up", "--topology", "tiny.yaml"),
            "run": ("run", "tiny-experiment.yaml", "--no-report"),
        }[command]
        return command_line.start(
            self.folder, *what, "--runtime", self.runtime, "--name", self.name
        )

    def down(self) -> str:
        """What went wrong; nothing, if all is well."""
        done = command_line.run(self.folder, "down", "--name", self.name)
        return f"down ended with {done.returncode}: {done.stderr}" if done.returncode else ""

    def traces(self) -> Traces:
        reap_orphans()
        return traces(self.state, self.name, self.engine)


def main() -> None:
    asked = _arguments()
    if not is_alone():
        sys.exit(_enter_own_world(asked))
    with sigterm_interrupts(), _scene(asked.runtime) as scene:
        failures = _trials(scene, asked.count, random.Random(asked.seed))
    print(f"{asked.count} trials, {failures} left something or lost something", flush=True)
    sys.exit(1 if failures else 0)


def _enter_own_world(asked: argparse.Namespace) -> int:
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    arguments = ["--count", str(asked.count), "--runtime", asked.runtime, "--seed", str(seed)]
    with ExitStack() as stack:
        if asked.runtime == "docker":
            # There is no way to a registry or a mirror from in there.
            os.environ["DOCKER_HOST"] = stack.enter_context(docker_engine())
            ensure_image(docker.APIClient(base_url=engine_address(), version="auto", timeout=600))
        return run_alone("tests.lan.kill_nine", arguments).returncode


def _trials(scene: Scene, count: int, rng: random.Random) -> int:
    lasts_s = {command: _duration(scene, command) for command in ("up", "run")}
    before = scene.traces()
    failures = 0
    for number in range(count):
        command = rng.choice(("up", "run"))
        moment_s = rng.random() * lasts_s[command]
        process = scene.start(command)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=moment_s)
        ended = process.returncode is not None
        process.kill()
        process.communicate()
        wrong = scene.down()
        left, lost = _difference(scene, before)
        said = "it had ended" if ended else "killed"
        print(f"{number + 1:4}. {command:3} {moment_s:6.2f} s, {said}", flush=True)
        for sentence in (
            wrong,
            *(f"left: {one}" for one in left),
            *(f"lost: {one}" for one in lost),
        ):
            if sentence:
                print(f"      {sentence}", flush=True)
        failures += bool(wrong or left or lost)
        before = (before | set(left)) - set(lost)  # to be told of once
    return failures


def _duration(scene: Scene, command: str) -> float:
    """How long it works on its LAN, and what it needs to be there once is there then."""
    started = time.monotonic()
    process = scene.start(command)
    lan = scene.state / scene.name
    wait_until(lambda: lan.exists() or process.poll() is not None, f"{command} begins")
    wait_until(lambda: not lan.exists() or process.poll() is not None, f"{command} ends")
    took_s = time.monotonic() - started
    if command == "run":
        process.kill()  # it is down, and goes on to analyse
    _, errors = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), errors
    assert not scene.down()
    print(f"{command} takes {took_s:.1f} s", flush=True)
    return took_s


def _difference(scene: Scene, before: Traces) -> tuple[list[str], list[str]]:
    give_up_at = time.monotonic() + GONE_WITHIN_S
    while True:
        left, lost = left_and_lost(before, scene.traces())
        if not left + lost or time.monotonic() > give_up_at:
            return left, lost
        time.sleep(0.05)


@contextmanager
def _scene(runtime: str) -> Iterator[Scene]:
    # Control groups that are left over are told by the name, which others must not have.
    name = f"k{secrets.token_hex(4)}"
    with tempfile.TemporaryDirectory(prefix="kill-nine-") as folder:
        place = Path(folder)
        (place / "tiny.yaml").write_text(TOPOLOGY)
        (place / "tiny-experiment.yaml").write_text(EXPERIMENT)
        os.environ["TESTBED_STATE"] = str(place / "state")
        _users_own_things()
        with ExitStack() as stack:
            engine = stack.enter_context(_engine(place, name)) if runtime == "docker" else None
            scene = Scene(place, name, runtime, engine)
            stack.callback(scene.down)  # for when it is interrupted
            yield scene


def _users_own_things() -> None:
    for command in (
        "ip link set lo up",
        "ip link add s1 type bridge",
        "ip link add testbed0 type veth peer name testbed1",
        "nft add table bridge testbed",
    ):
        subprocess.run(command.split(), check=True)


@contextmanager
def _engine(folder: Path, name: str) -> Iterator[str]:
    """One inside this world: the first processes of its containers have to be found here."""
    outside = engine_address()
    ENGINE_DATA.mkdir(parents=True, exist_ok=True)
    address = f"unix://{folder}/socket"
    with (folder / "engine.log").open("w") as log:
        engine = subprocess.Popen(
            [
                *("dockerd", "--bridge=none", "--iptables=false", "--ip6tables=false"),
                *("--data-root", ENGINE_DATA, "--exec-root", folder / "exec"),
                *("--pidfile", folder / "pid", "--host", address, f"--cgroup-parent=/{name}"),
            ],
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(
            lambda: engine_answers(address) or engine.poll() is not None, "the engine answers"
        )
        if engine.poll() is not None:
            sys.exit((folder / "engine.log").read_text())
        os.environ["DOCKER_HOST"] = address
        _copy_images(outside, address)
        yield address
    finally:
        engine.terminate()
        engine.wait()
        for group in sorted(Path("/sys/fs/cgroup").glob(f"*/{name}")):
            with suppress(OSError):
                group.rmdir()
        shutil.rmtree(folder / "exec", ignore_errors=True)


def _copy_images(here: str, there: str) -> None:
    """Rather than make them again."""
    giver = docker.APIClient(base_url=here, version="auto", timeout=600)
    taker = docker.APIClient(base_url=there, version="auto", timeout=600)
    for image in (ensure_base(giver, no_progress).image, ensure_image(giver)):
        if not taker.images(image):
            for _ in taker.load_image(giver.get_image(image)) or ():
                pass


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--runtime", choices=("namespace", "docker"), default="namespace")
    parser.add_argument("--seed", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    main()
