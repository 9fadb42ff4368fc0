"""Which keys a host may show, by the files and the rules of OpenSSH.

A line is about a host if one of its patterns is the host's name and none that begins with `!` is. A
host with a port of its own stands as [name]:port; the very key that is known for the name alone will
do. Authorities' certificates are not understood, so that `@cert-authority` makes no host known.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KNOWN_HOSTS = "~/.ssh/known_hosts"
"""Where a user's own are."""
FILES = (
    *(KNOWN_HOSTS, "~/.ssh/known_hosts2"),
    *("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"),
)
REVOKED = "@revoked"
HASHED = re.compile(r"\|1\|([^|]+)\|([^|]+)")


@dataclass(frozen=True)
class KnownKey:
    kind: str
    blob: bytes
    revoked: bool = False


def name_of(host: str, port: int) -> str:
    """How the files call it."""
    return host.lower() if port == 22 else f"[{host.lower()}]:{port}"


def known_keys(name: str) -> list[KnownKey]:
    """What the files say of this name. A host may have several keys, also of one kind."""
    return [
        key
        for path in (Path(file).expanduser() for file in FILES)
        if path.is_file()
        for line in path.read_text(errors="replace").splitlines()
        for key in _key_for(name, line)
    ]


def is_about(names: str, name: str) -> bool:
    """Whether a line's first field, patterns or a hash, means the host."""
    if names.startswith("|"):
        return _is_hash_of(name, names)
    found = False
    for pattern in names.split(","):
        if _matches(pattern.removeprefix("!"), name):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def _key_for(name: str, line: str) -> Iterator[KnownKey]:
    fields = line.split()
    marker = fields.pop(0) if fields and fields[0].startswith("@") else ""
    # Other markers and comments are not for us.
    if marker not in ("", REVOKED) or len(fields) < 3 or fields[0].startswith("#"):
        return
    names, kind, encoded = fields[:3]
    blob = _decoded(encoded)
    if blob[4:].startswith(kind.encode()) and is_about(names, name):
        yield KnownKey(kind, blob, revoked=marker == REVOKED)


def _matches(pattern: str, name: str) -> bool:
    # Not `fnmatch`: brackets stand for themselves, around a name with a port.
    parts = {"*": ".*", "?": "."}
    expression = "".join(parts.get(letter) or re.escape(letter) for letter in pattern.lower())
    return re.fullmatch(expression, name, re.DOTALL) is not None


def _is_hash_of(name: str, hashed: str) -> bool:
    found = HASHED.fullmatch(hashed)
    if found is None:
        return False
    salt, digest = map(_decoded, found.groups())
    return hmac.compare_digest(hmac.digest(salt, name.encode(), hashlib.sha1), digest)


def _decoded(text: str) -> bytes:
    """Nothing if it is not Base64."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
