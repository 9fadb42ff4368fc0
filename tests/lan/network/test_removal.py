"""What is left when a LAN's network is removed: nothing of ours, and everything of others."""

import json
import random
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.lan.ledger import Ledger
from testbed.lan.network import Network
from tests.support.namespace_hosts import Hosts, LanMaker, needs_root, plan_of

pytestmark = pytest.mark.root

REPOSITORY = Path(__file__).parents[3]

BUILD = """
import json, sys
from pathlib import Path
from testbed.lan.ledger import Ledger
from testbed.lan.network import Network
from tests.support.namespace_hosts import plan_of

pids = {int(host): pid for host, pid in json.loads(sys.argv[2]).items()}
print("ready", flush=True)
Network.build(plan_of(hosts=len(pids), link={"rate": "100mbit"}), pids, Ledger.create(Path(sys.argv[1])))
print("built", flush=True)
"""


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if reason := needs_root():
        pytest.skip(reason)
    monkeypatch.setenv("TESTBED_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def things_of_a_user(state: Path) -> Iterator[str]:
    """A bridge, a namespace and a firewall table with names like ours; gives their common name."""
    name = f"s{secrets.token_hex(3)}"  # nobody else's
    output("ip", "link", "add", "name", name, "type", "bridge")
    output("ip", "netns", "add", f"testbed-{name}")
    output("nft", "add", "table", "bridge", name)
    try:
        yield name
    finally:
        output("nft", "delete", "table", "bridge", name)
        output("ip", "netns", "delete", f"testbed-{name}")
        output("ip", "link", "delete", name)


def test_a_users_own_things_survive(make_lan: LanMaker, things_of_a_user: str) -> None:
    lan = make_lan(plan_of(name=things_of_a_user))
    lan.network.set_loss(0.5)
    lan.remove()
    assert things_of_a_user in output("ip", "-brief", "link")
    assert f"testbed-{things_of_a_user}" in output("ip", "netns", "list")
    assert f"table bridge {things_of_a_user}" in output("nft", "list", "tables")


def test_nothing_is_in_the_machines_own_namespace(make_lan: LanMaker) -> None:
    before = set(socket.if_nameindex())
    lan = make_lan()
    lan.network.set_loss(0.5)
    new = {name for _index, name in set(socket.if_nameindex()) - before}
    ours = {"eth0", *(s.bridge for s in lan.plan.switches), *(h.port for h in lan.plan.hosts)}
    assert not new & ours
    assert "table bridge testbed" not in output("nft", "list", "tables")


def test_removing_takes_the_hosts_interfaces_too(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.remove()
    told, _ = lan.hosts.run(1, "ip", "-brief", "link").communicate()
    assert [line.split()[0] for line in told.splitlines()] == ["lo"]


def test_removing_twice_is_as_good_as_once(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.remove()
    Network.remove(Ledger(lan.ledger.folder))


def test_a_file_that_keeps_no_namespace_is_removed(state: Path) -> None:
    ledger = Ledger.create(state / "tried")
    path = ledger.folder / "switches"
    ledger.note("switches", path=str(path))
    path.touch()
    Network.remove(ledger)
    assert not path.exists()
    ledger.close()


def test_what_was_not_noted_is_not_touched(state: Path) -> None:
    ledger = Ledger.create(state / "tried")
    (ledger.folder / "switches").touch()
    Network.remove(ledger)
    assert (ledger.folder / "switches").exists()
    ledger.close()


@pytest.mark.slow
def test_a_build_that_was_killed_at_any_moment_leaves_nothing(state: Path) -> None:
    rng = random.Random(1)
    for number in range(8):
        folder = state / f"killed-{number}"
        with Hosts(20) as hosts:
            _build_and_kill(folder, hosts, after_s=rng.uniform(0, 0.3))
            ledger = Ledger.open(folder)
            Network.remove(ledger)
            ledger.remove()
            told, _ = hosts.run(1, "ip", "-brief", "link").communicate()
            assert [line.split()[0] for line in told.splitlines()] == ["lo"]
        assert str(folder) not in Path("/proc/self/mounts").read_text()
        assert not folder.exists()


def _build_and_kill(folder: Path, hosts: Hosts, after_s: float) -> None:
    """Start a process that builds, and kill it so long after it began, or at its end."""
    command = [sys.executable, "-c", BUILD, str(folder), json.dumps(hosts.pids)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY) as building:
        assert building.stdout is not None
        assert building.stdout.readline() == b"ready\n"
        try:
            building.wait(after_s)
        except subprocess.TimeoutExpired:
            building.send_signal(signal.SIGKILL)
