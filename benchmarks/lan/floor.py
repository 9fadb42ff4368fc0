"""The floor: as many bare containers as a topology has machines, and a cable to each; no agents."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import docker
from pyroute2 import IPRoute

from testbed.lan.image import ensure_image
from testbed.lan.runtimes.docker import THREADS, connect, engine_address

LABEL = "testbed.benchmark"


def floor(machines: int) -> tuple[float, float]:
    """Seconds until they stand, and until they are gone."""
    api = connect(engine_address())
    image = ensure_image(api)
    names = [f"testbed-floor-{number}" for number in range(machines)]
    began = time.monotonic()
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            pids = list(pool.map(lambda name: _start(api, image, name), names))
        _cables(pids)
        stands = time.monotonic() - began
    finally:
        began = time.monotonic()
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda name: _remove(api, name), names))
    return stands, time.monotonic() - began


def _start(api: docker.APIClient, image: str, name: str) -> int:
    config = api.create_host_config(network_mode="none")
    made = api.create_container(
        image, ["sleep", "3600"], name=name, host_config=config, entrypoint=[], labels={LABEL: "1"}
    )
    api.start(made["Id"])
    return int(api.inspect_container(made["Id"])["State"]["Pid"])


def _cables(pids: list[int]) -> None:
    """Both ends vanish with the containers' namespaces."""
    with IPRoute() as routes:
        for number, pid in enumerate(pids):
            peer = {"ifname": "eth0", "net_ns_fd": f"/proc/{pid}/ns/net"}
            routes.link("add", ifname=f"tbfloor{number}", kind="veth", peer=peer)


def _remove(api: docker.APIClient, name: str) -> None:
    with suppress(docker.errors.NotFound):
        api.remove_container(name, force=True)
