"""Network namespaces: how to make one, step into one for a moment, and keep one by a file.

A socket belongs for good to the namespace in which it was made. So nothing here starts a process:
the calling thread steps into a namespace, makes a socket or reads a file, and steps back.
"""

import ctypes
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def inside(namespace: int) -> Iterator[None]:
    """With the calling thread, and no other, in the network namespace of this descriptor."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", namespace, CLONE_NEWNET)
        try:
            yield
        finally:
            _call("setns", home, CLONE_NEWNET)
    finally:
        os.close(home)


@contextmanager
def opened(path: Path | str) -> Iterator[int]:
    """The descriptor of a namespace that a file keeps, or that a process is in."""
    namespace = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield namespace
    finally:
        os.close(namespace)


def of_process(pid: int) -> str:
    return f"/proc/{pid}/ns/net"


def socket_in(
    namespace: int, family: int, kind: int = socket.SOCK_DGRAM, protocol: int = 0
) -> socket.socket:
    with inside(namespace):
        return socket.socket(family, kind | socket.SOCK_CLOEXEC, protocol)


def indexes_in(namespace: int) -> dict[str, int]:
    """The numbers of all interfaces, by their names."""
    with inside(namespace):
        return {name: index for index, name in socket.if_nameindex()}


def set_kernel_parameters(namespace: int, values: dict[str, int]) -> None:
    """Parameters below /proc/sys/net, which is each namespace's own. What this kernel does not
    have, it does not do either."""
    with inside(namespace):
        for name, value in values.items():
            try:
                Path("/proc/sys/net", name).write_text(str(value))
            except FileNotFoundError:
                continue


def make(path: Path) -> None:
    """A new network namespace, kept by this file, which must not be there yet."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    with temporary() as namespace:
        source = f"/proc/thread-self/fd/{namespace}"
        _call("mount", source.encode(), os.fsencode(path), None, MS_BIND, None)


@contextmanager
def temporary() -> Iterator[int]:
    """A new network namespace that ends when nothing is left in it."""

    def open_a_new_one() -> int:
        _call("unshare", CLONE_NEWNET)
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    # By a thread that ends, so that nobody needs to step back.
    with ThreadPoolExecutor(max_workers=1) as thread:
        namespace = thread.submit(open_a_new_one).result()
    try:
        yield namespace
    finally:
        os.close(namespace)


def is_kept(path: Path) -> bool:
    """Whether the file keeps a namespace: one that was made and not yet mounted does not."""
    try:
        return path.stat().st_dev == os.stat("/proc/thread-self/ns/net").st_dev
    except FileNotFoundError:
        return False


def forget(path: Path) -> None:
    """Let the namespace go, if it is kept; it ends when nobody is in it any more."""
    while is_kept(path):
        _call("umount2", os.fsencode(path), MNT_DETACH)
    path.unlink(missing_ok=True)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
