"""Finding a class: ours by name, an installed package's, or one in a file of the user's own."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from inspect import isabstract
from pathlib import Path
from typing import Any

import pytest

from agents.core.errors import LocalError
from agents.core.membership import Membership
from agents.core.protocol import Protocol
from agents.core.registry import Registry, memberships, protocols
from tests.support.registered import LAYERS

REPOSITORY = Path(__file__).parents[2]

MINE = """\
from agents.core.membership import Membership
from agents.core.protocol import Protocol

class Mine(Protocol):
    name = "mine"
    messages = ()

class Friends(Membership):
    name = "friends"

class Other:
    pass

mine = 5
"""


@pytest.fixture(autouse=True)
def _forget_users_modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("testbed_user_", "testbed_test_")):
            del sys.modules[name]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def refusal(registry: Registry[Any], name: str) -> str:
    with pytest.raises(LocalError) as caught:
        registry.load(name)
    return str(caught.value)


# Ours


def test_ours_are_there_by_name() -> None:
    assert {"camcast", "gossip-broadcast", "gossip-multicast"} <= set(protocols.names())
    assert {"static", "scamp"} <= set(memberships.names())


@pytest.mark.parametrize("registry", [protocols, memberships])
def test_names_are_sorted_and_each_leads_to_its_class(
    registry: Registry[type[Protocol]] | Registry[type[Membership]],
) -> None:
    names = registry.names()
    assert names == sorted(set(names))
    for name in names:
        assert registry.load(name).name == name


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_whatever_is_registered_lacks_no_method(layer: type) -> None:
    assert not isabstract(layer)


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    there_are = ", ".join(protocols.names())
    message = f"no protocol is called 'camcats'; there are {there_are}"
    assert refusal(protocols, "camcats") == message
    there_are = ", ".join(memberships.names())
    assert refusal(memberships, "") == f"no membership is called ''; there are {there_are}"


def test_a_membership_is_no_protocol() -> None:
    assert refusal(protocols, "static").startswith("no protocol is called 'static'")


def test_two_classes_of_one_name_are_refused() -> None:
    camcast = protocols.load("camcast")
    impostor = type("Impostor", (camcast,), {})
    with pytest.raises(LocalError, match="two protocols are called 'camcast'"):
        protocols.register(impostor)
    assert protocols.load("camcast") is camcast


def test_a_class_may_register_twice() -> None:
    camcast = protocols.load("camcast")
    assert protocols.register(camcast) is camcast


# In a file


def test_a_class_in_a_file_is_loaded_once(mine: Path) -> None:
    found = protocols.load(f"{mine}:Mine")
    assert issubclass(found, Protocol)
    assert found.name == "mine"
    assert protocols.load(f"{mine}:Mine") is found


def test_one_file_can_have_protocols_and_memberships(mine: Path) -> None:
    protocol, membership = protocols.load(f"{mine}:Mine"), memberships.load(f"{mine}:Friends")
    assert protocol.__module__ == membership.__module__


def test_a_class_in_a_file_is_not_listed(mine: Path) -> None:
    before = protocols.names()
    protocols.load(f"{mine}:Mine")
    assert protocols.names() == before


def test_a_path_may_be_relative_and_the_class_is_the_same(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    (mine.parent / "link.py").symlink_to(mine)
    found = protocols.load(f"{mine}:Mine")
    assert protocols.load("mine.py:Mine") is found
    assert protocols.load("./mine.py:Mine") is found
    assert protocols.load("link.py:Mine") is found


def test_a_folder_may_have_a_colon(tmp_path: Path) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    assert protocols.load(f"{folder}/mine.py:Mine").name == "mine"


def test_files_of_one_name_in_two_folders_are_different(mine: Path) -> None:
    other = mine.parent / "other"
    other.mkdir()
    (other / "mine.py").write_text(MINE.replace('"mine"', '"other"'))
    assert protocols.load(f"{mine}:Mine").name == "mine"
    assert protocols.load(f"{other}/mine.py:Mine").name == "other"


def test_there_must_be_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal(protocols, "none.py:Mine") == f"there is no file {tmp_path}/none.py"
    assert refusal(protocols, f"{tmp_path}:Mine") == f"there is no file {tmp_path}"
    assert refusal(protocols, ":Mine") == f"there is no file {tmp_path}"


def test_it_must_be_a_python_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(MINE)
    assert refusal(protocols, f"{path}:Mine") == f"{path} is no Python file"


@pytest.mark.parametrize("name", ["Yours", ""])
def test_the_class_must_be_in_the_file(mine: Path, name: str) -> None:
    assert refusal(protocols, f"{mine}:{name}") == f"{mine} has no class {name!r}"


@pytest.mark.parametrize("name", ["Other", "mine", "Friends"])
def test_it_must_be_a_subclass(mine: Path, name: str) -> None:
    assert refusal(protocols, f"{mine}:{name}") == f"{mine}:{name} is no subclass of Protocol"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def (", "SyntaxError: invalid syntax"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_file_that_fails_says_why_and_may_be_mended(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "torn.py"
    path.write_text(text)
    message = refusal(protocols, f"{path}:Mine")
    assert message.startswith(f"{path} cannot be imported: {reason}")
    path.write_text(MINE)
    assert protocols.load(f"{path}:Mine").name == "mine"


# In other processes


def test_a_files_module_is_called_the_same_whatever_the_hash_seed(mine: Path) -> None:
    code = "import sys; from agents.core.registry import protocols; "
    code += "print(protocols.load(sys.argv[1]).__module__)"
    names = {
        subprocess.run(
            [sys.executable, "-c", code, f"{mine}:Mine"],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert names == {protocols.load(f"{mine}:Mine").__module__}


def test_a_class_in_a_file_can_be_pickled(tmp_path: Path) -> None:
    path = tmp_path / "my.own-protocol.py"
    path.write_text(MINE)
    found = protocols.load(f"{path}:Mine")
    assert pickle.loads(pickle.dumps(found)) is found


# In an installed package


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with entry points: a good one, one that fails, one of no use."""
    (tmp_path / "testbed_test_package.py").write_text(MINE)
    info = tmp_path / "testbed_test_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: testbed-test-package\nVersion: 1\n"
    )
    (info / "entry_points.txt").write_text(
        "[testbed.protocols]\n"
        "packaged = testbed_test_package:Mine\n"
        "missing = testbed_test_package:Missing\n"
        "useless = testbed_test_package:Other\n"
        "camcast = testbed_test_package:Mine\n"
        "[testbed.memberships]\n"
        "friends = testbed_test_package:Friends\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("package")
def test_a_package_offers_protocols_and_memberships() -> None:
    assert "packaged" in protocols.names()
    assert protocols.load("packaged").__module__ == "testbed_test_package"
    assert "friends" in memberships.names()
    assert memberships.load("friends").name == "friends"


@pytest.mark.usefixtures("package")
def test_a_package_cannot_take_the_place_of_ours() -> None:
    assert protocols.load("camcast").__module__.startswith("agents.")
    assert protocols.names().count("camcast") == 1


@pytest.mark.usefixtures("package")
def test_what_a_package_offers_in_vain_is_refused() -> None:
    message = refusal(protocols, "missing")
    assert message.startswith(
        "protocol 'missing' (testbed_test_package:Missing) cannot be imported: AttributeError: "
    )
    message = refusal(protocols, "useless")
    assert message == "testbed_test_package:Other is no subclass of Protocol"
