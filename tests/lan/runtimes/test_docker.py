"""What holds for containers: what is not ours survives, and the image is what its tag says."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

import testbed.lan.image
from agents.core.errors import LocalError
from testbed.lan.base_image import own_python
from testbed.lan.image import ensure_image, msgspec_for
from testbed.lan.ledger import Ledger
from testbed.lan.runtimes import open_runtime, runtimes_of
from testbed.lan.runtimes.docker import OWNER_LABEL, DockerRuntime, connect
from testbed.lan.state import folder_of
from tests.lan.runtimes.test_runtimes import machines

pytestmark = pytest.mark.docker


@pytest.fixture
def api(engine: str) -> Iterator[docker.APIClient]:
    client = connect(engine)
    yield client
    client.close()


@pytest.fixture
def image(api: docker.APIClient, state: Path) -> str:
    return ensure_image(api)


@pytest.fixture
def ledger(state: Path) -> Iterator[Ledger]:
    ledger = Ledger.create(folder_of(f"t{secrets.token_hex(4)}"))
    yield ledger
    for runtime in runtimes_of(ledger.folder.name, ledger):
        runtime.remove_all()


@pytest.fixture
def runtime(engine: str, ledger: Ledger) -> DockerRuntime:
    return DockerRuntime(ledger.folder.name, ledger)


@pytest.fixture
def users_own(api: docker.APIClient, image: str) -> Iterator[str]:
    """A container that somebody else made, and runs."""
    made = api.create_container(image, ["sleep", "1000"], name=f"own-{secrets.token_hex(4)}")["Id"]
    api.start(made)
    yield made
    api.remove_container(made, force=True)


class TestWhatIsNotOurs:
    def test_a_users_container_survives(
        self, api: docker.APIClient, runtime: DockerRuntime, ledger: Ledger, users_own: str
    ) -> None:
        before = api.inspect_container(users_own)["State"]["Pid"]
        runtime.start(machines(ledger, 2))
        runtime.remove_all()
        assert api.inspect_container(users_own)["State"]["Pid"] == before

    def test_a_users_container_of_the_same_name_is_neither_taken_nor_removed(
        self, api: docker.APIClient, image: str, runtime: DockerRuntime, ledger: Ledger
    ) -> None:
        name = f"testbed-{ledger.folder.name}-host-1"
        theirs = api.create_container(image, ["sleep", "1000"], name=name)["Id"]
        try:
            with pytest.raises(LocalError, match=f"a container called {name} already"):
                runtime.start(machines(ledger, 2))
            runtime.remove_all()
            assert api.inspect_container(theirs)["Id"] == theirs
            ours = api.containers(all=True, filters={"label": [f"{OWNER_LABEL}"]})
            assert ledger.folder.name not in str(ours)
        finally:
            api.remove_container(theirs, force=True)


class TestTheEngine:
    def test_one_that_does_not_answer_is_named_with_how_to_start_one(
        self, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
        with pytest.raises(LocalError, match=r"no Docker engine answers .* 'dockerd --bridge=none"):
            open_runtime("docker", ledger.folder.name, ledger).start(machines(ledger, 1))
        assert open_runtime("auto", ledger.folder.name, ledger).name == "namespace"

    def test_one_on_another_computer_is_refused(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DOCKER_HOST", "tcp://198.18.0.1:2375")
        with pytest.raises(LocalError, match="must be on this computer"):
            DockerRuntime(ledger.folder.name, ledger).start(machines(ledger, 1))

    def test_containers_are_removed_from_the_one_that_they_are_in(
        self,
        runtime: DockerRuntime,
        ledger: Ledger,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        runtime.start(machines(ledger, 1))
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
        (later,) = runtimes_of(ledger.folder.name, ledger)
        later.remove_all()
        assert later.pid(1) is None

    def test_auto_takes_it_where_it_answers(self, engine: str, ledger: Ledger) -> None:
        assert open_runtime("auto", ledger.folder.name, ledger).name == "docker"


class TestTheImage:
    def test_it_has_the_package_that_fits_its_own_python(self) -> None:
        for python in (own_python(), "3.13"):
            with msgspec_for(python) as folder:
                names = [path.name for path in folder.glob("_core*.so")]
            assert [f"-{python.replace('.', '')}-" in name for name in names] == [True]

    def test_its_agents_are_compiled_since_its_root_cannot_be_written(
        self, api: docker.APIClient, runtime: DockerRuntime, ledger: Ledger
    ) -> None:
        runtime.start(machines(ledger, 1))
        found = runtime.exec(1, ["find", "/opt/testbed", "-name", "supervisor.*.pyc"])
        assert found.stdout.count(b"\n") == 1

    def test_the_same_content_has_the_same_tag(self, api: docker.APIClient, image: str) -> None:
        before = api.inspect_image(image)["Id"]
        assert ensure_image(api) == image
        assert api.inspect_image(image)["Id"] == before

    def test_other_content_has_another_tag(
        self,
        api: docker.APIClient,
        image: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        recipe = tmp_path / "Dockerfile"
        recipe.write_bytes(testbed.lan.image.DOCKERFILE.read_bytes() + b"LABEL another=one\n")
        monkeypatch.setattr(testbed.lan.image, "DOCKERFILE", recipe)
        other = ensure_image(api)
        try:
            assert other != image
            assert api.inspect_image(other)["Config"]["Labels"]["another"] == "one"
        finally:
            api.remove_image(other)

    def test_an_image_that_cannot_be_made_says_why(
        self,
        api: docker.APIClient,
        image: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        recipe = tmp_path / "Dockerfile"
        recipe.write_bytes(testbed.lan.image.DOCKERFILE.read_bytes() + b'RUN ["false"]\n')
        monkeypatch.setattr(testbed.lan.image, "DOCKERFILE", recipe)
        with pytest.raises(LocalError, match=r"could not make testbed-agent:.*non-zero code: 1"):
            ensure_image(api)
