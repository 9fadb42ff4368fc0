"""Which lines are about a host, and which keys they give, held to what OpenSSH makes of the same file."""

import subprocess
from pathlib import Path

import pytest

from testbed.remote.known_hosts import KnownKey, known_keys, name_of

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIwnWGZ0lfyLkS6pAsFgPB4Sx8TmcnjwRNgrCrFUKGBZ"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHoJ4jAX4AVs1ZVbyYuKmcZaJpnWPt1yCU1qsWbKvMuX"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "known_hosts"
    monkeypatch.setattr("testbed.remote.known_hosts.FILES", (str(path),))
    return path


NAMES = [
    ("lab.example", "lab.example", True),
    ("LAB.Example", "lab.example", True),
    ("lab.example", "LAB.example", True),
    ("other,lab.example", "lab.example", True),
    ("lab.example.org", "lab.example", False),
    ("labxexample", "lab.example", False),
    ("*", "lab.example", True),
    ("*.example", "lab.example", True),
    ("*.example", "example", False),
    ("l?b.example", "lab.example", True),
    ("l?b.example", "lb.example", False),
    ("*.example,!lab.example", "lab.example", False),
    ("!lab.example,*.example", "lab.example", False),
    ("*.example,!lab.example", "den.example", True),
    ("!lab.example", "den.example", False),
    ("[lab.example]:2222", "[lab.example]:2222", True),
    ("[*.example]:2222", "[lab.example]:2222", True),
    ("[lab.example]:*", "[lab.example]:2222", True),
    ("[lab.example]:2222", "lab.example", False),
    ("[lab].example", "l.example", False),
    ("192.0.2.?", "192.0.2.7", True),
    ("|1|no hash", "lab.example", False),
]


@pytest.mark.parametrize(("names", "name", "about"), NAMES)
def test_a_line_is_about_the_hosts_that_its_patterns_mean(
    file: Path, names: str, name: str, about: bool
) -> None:
    file.write_text(f"{names} {KEY} a comment\n")
    found = known_keys(name_of(name, 22))
    assert len(found) == about
    assert is_found_by_openssh(file, name) == about


def is_found_by_openssh(file: Path, name: str) -> bool:
    command = ["ssh-keygen", "-f", str(file), "-F", name.lower()]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"h {KEY}", "known"),
        (f"  h\t{KEY}", "known"),
        (f"h  {KEY.replace(' ', '   ')}", "known"),
        (f"@revoked h {KEY}", "revoked"),
        (f"@revoked\t*\t{KEY} a comment", "revoked"),
        (f"@cert-authority h {KEY}", ""),
        (f"@nonsense h {KEY}", ""),
        (f"#h {KEY}", ""),
        (f"h {KEY.replace('ssh-ed25519', 'ssh-rsa')}", ""),
        ("h ssh-ed25519 garbage", ""),
        ("h", ""),
        ("", ""),
    ],
)
def test_what_else_is_on_a_line(file: Path, line: str, found: str) -> None:
    file.write_text(f"{line}\nothers {OTHER}\n")
    said = ["revoked" if key.revoked else "known" for key in known_keys("h")]
    assert said == ([found] if found else [])


def test_hashed_names_are_understood(file: Path) -> None:
    file.write_text(f"lab.example {KEY}\n[lab.example]:2222 {OTHER}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], capture_output=True, check=True)
    assert "lab" not in file.read_text()
    (key,) = known_keys(name_of("LAB.example", 22))
    (other,) = known_keys(name_of("LAB.example", 2222))
    assert key != other
    assert isinstance(key, KnownKey)
    assert known_keys("den.example") == []
