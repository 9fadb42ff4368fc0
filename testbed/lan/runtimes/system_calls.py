"""The Linux calls that Python 3.11 has no functions for."""

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 0x2

_IFF_UP = 0x1
_SIOCSIFFLAGS = 0x8914
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}


def unshare(flags: int) -> None:
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: Path | str, kind: str, flags: int, options: str = "") -> None:
    arguments = (source.encode(), os.fsencode(target), kind.encode())
    result = _libc.mount(*arguments, ctypes.c_ulong(flags), options.encode())
    _check(result, f"mount on {target}")


def unmount(target: str) -> None:
    """At once for those who look, and for good when the last one who uses it ends."""
    _check(_libc.umount2(os.fsencode(target), ctypes.c_int(MNT_DETACH)), f"unmount {target}")


def change_root(folder: Path) -> None:
    """Make a mounted folder the root of this mount namespace, with no way back."""
    os.chdir(folder)
    number = ctypes.c_long(_SYS_PIVOT_ROOT[os.uname().machine])
    # Both at ".": the old root lies on top of the new one until it is unmounted.
    _check(_libc.syscall(number, b".", b"."), "pivot_root")
    unmount(".")
    os.chdir("/")


def set_host_name(name: str) -> None:
    text = name.encode()
    _check(_libc.sethostname(text, ctypes.c_size_t(len(text))), "sethostname")


def raise_loopback() -> None:
    """Let this network namespace have its first interface and address.

    Before there is any address, Linux takes every other one for a broadcast address: a socket that is
    bound to it then, because it will come, would send with whichever address the machine has first.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH22x", b"lo", _IFF_UP)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)


def become(uid: int) -> None:
    """An unprivileged user for good: no group, no capability, and no program that could give one."""
    capability = 0
    while _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) == 0:
        capability += 1
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, nothing), "capset")
    one, zero = ctypes.c_ulong(1), ctypes.c_ulong(0)
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, one, zero, zero, zero), "prctl")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
