"""What `--on` names."""

import getpass

import pytest

from agents.core.errors import LocalError
from testbed.remote.connection import Target

ME = getpass.getuser()


@pytest.mark.parametrize(
    ("text", "target", "known_as"),
    [
        ("me@lab.example", Target("me", "lab.example", 22), "lab.example"),
        ("me@Lab.Example:22", Target("me", "Lab.Example", 22), "lab.example"),
        ("me@lab.example:2222", Target("me", "lab.example", 2222), "[lab.example]:2222"),
        ("lab", Target(ME, "lab", 22), "lab"),
        ("me@work@lab", Target("me@work", "lab", 22), "lab"),
        ("me@192.0.2.7", Target("me", "192.0.2.7", 22), "192.0.2.7"),
        ("me@192.0.2.7:1", Target("me", "192.0.2.7", 1), "[192.0.2.7]:1"),
        ("me@::1", Target("me", "::1", 22), "::1"),
        ("[::1]", Target(ME, "::1", 22), "::1"),
        ("me@[::1]:2222", Target("me", "::1", 2222), "[::1]:2222"),
        ("me@fe80::1%eth0", Target("me", "fe80::1%eth0", 22), "fe80::1%eth0"),
        ("[fe80::1%eth0]:65535", Target(ME, "fe80::1%eth0", 65535), "[fe80::1%eth0]:65535"),
    ],
)
def test_user_host_and_port(text: str, target: Target, known_as: str) -> None:
    assert Target.parse(text) == target
    assert target.known_as == known_as
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize(
    "text",
    [
        *("", "@", "me@", "@lab", "me@:22", "me@[]", "me@[]:22"),
        *("me@lab:", "me@lab:0", "me@lab:65536", "me@lab:-1", "me@lab:ssh", "me@lab:\u00b2"),
        *("me@[::1", "me@::1]", "me@[::1]2222", "me@[::1]:", "me@[[::1]]:22"),
    ],
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(LocalError, match="must be user@host or user@host:port, such as"):
        Target.parse(text)
