"""One SSH connection: who is at the other end is checked, and what is cut is noticed.

A server is trusted if `known_hosts` has its key, and never otherwise. We prove who we are with an
agent's key or a key file; passwords are not asked for, only the passphrase of a key file.
"""

import base64
import errno
import getpass
import hashlib
import logging
import os
import re
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import paramiko

from agents.core.errors import LocalError
from testbed.remote.known_hosts import KNOWN_HOSTS, KnownKey, known_keys, name_of

# What it would log is said by us, in a sentence.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

PLACE = re.compile(
    r"(?P<name>[^\[\]:]+)(:(?P<port>[0-9]{1,5}))?"
    r"|\[(?P<address>[^\[\]]+)\](:(?P<its_port>[0-9]{1,5}))?"
    r"|(?P<bare_address>[^\[\]:]*:[^\[\]:]*:[^\[\]]*)"
)
"""A host with or without a port; an IPv6 address has its colons, and brackets if it has a port."""
KEY_FILES = ("~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")
CONNECT_S = 30.0
KEEP_ALIVE_S = 3
SILENCE_MS = 10_000
"""A server that has not acknowledged what we sent for so long is cut off; a guess of ours."""
PASSPHRASES = 3
"""How often it is asked for."""


class Unreachable(OSError):
    """There is no way to the machine, as it seems."""


class Lost(Exception):
    """The connection was cut in the middle of something that can be done again."""


class Refused(LocalError):
    """The machine is not the one it should be, or does not want us."""


@dataclass(frozen=True)
class Target:
    """`user@host[:port]`; an IPv6 address with a port stands in brackets."""

    user: str
    host: str
    port: int = 22

    @classmethod
    def parse(cls, text: str) -> "Target":
        user, at, place = text.rpartition("@")
        found = PLACE.fullmatch(place)
        port = int(found["port"] or found["its_port"] or 22) if found else 0
        if not found or (at and not user) or not 0 < port < 65536:
            raise LocalError(
                f"--on {text}: must be user@host or user@host:port, such as me@lab.example:2222"
            )
        host = found["name"] or found["address"] or found["bare_address"]
        return cls(user or getpass.getuser(), host, port)

    @property
    def known_as(self) -> str:
        """Its name in `known_hosts`."""
        return name_of(self.host, self.port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.user}@{host}" + (f":{self.port}" if self.port != 22 else "")


class Connection:
    """Opened as often as need be; what runs over it raises `Lost` when it is cut."""

    def __init__(self, target: Target, identity: Path | None = None) -> None:
        if identity is not None and not identity.is_file():
            raise LocalError(f"--identity {identity}: there is no such file")
        self.target = target
        self._identity = identity
        self._passphrases: dict[Path, str] = {}
        self._taken: tuple[str, paramiko.PKey] | None = None
        """The key by which we were let in before."""
        self._transport: paramiko.Transport | None = None
        self._sftp: paramiko.SFTPClient | None = None

    def open(self) -> None:
        """Connect anew: `Unreachable` may pass, `Refused` will not."""
        self.close()
        where = f"{self.target.host} port {self.target.port}"
        try:
            wire = socket.create_connection((self.target.host, self.target.port), CONNECT_S)
        except socket.gaierror as error:
            raise Unreachable(
                f"{self.target.host}: there is no such host ({error.strerror})"
            ) from None
        except OSError as error:
            raise Unreachable(f"{where} cannot be reached: {error.strerror or error}") from None
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_MS)
        transport = paramiko.Transport(wire)
        transport.banner_timeout = transport.auth_timeout = CONNECT_S
        try:
            known = known_keys(self.target.known_as)
            trusted = [known_key for known_key in known if not known_key.revoked]
            # As OpenSSH has it, only where nothing is known of the port.
            for_any_port = [] if trusted else known_keys(name_of(self.target.host, 22))
            _prefer(transport, trusted or for_any_port)
            transport.start_client(timeout=CONNECT_S)
            _check_host_key(self.target, transport.get_remote_server_key(), known, for_any_port)
            self._authenticate(transport)
            transport.set_keepalive(KEEP_ALIVE_S)
        except (paramiko.SSHException, EOFError, OSError) as error:
            transport.close()
            what = str(error) or "it hangs up"
            raise Unreachable(f"{where} does not answer as an SSH server should: {what}") from None
        except BaseException:
            transport.close()
            raise
        self._transport = transport

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self._transport = self._sftp = None

    @property
    def sftp(self) -> paramiko.SFTPClient:
        if self._sftp is None:
            try:
                self._sftp = paramiko.SFTPClient.from_transport(self._alive())
            except (paramiko.SSHException, EOFError, OSError) as error:
                if not self._is_alive():
                    raise Lost from error
                raise Refused(
                    f"{self.target} offers no SFTP, by which files are sent: "
                    "set `Subsystem sftp internal-sftp` in /etc/ssh/sshd_config there"
                ) from None
        assert self._sftp is not None
        return self._sftp

    def run(self, script: str, *arguments: str, given: bytes = b"") -> str:
        """What a shell script prints there; one that fails is an error with its last words."""
        with self.noticing_a_cut():
            channel = self.start(script, *arguments)
            channel.sendall(given)
            channel.shutdown_write()
            output = channel.makefile("rb").read()
            words = channel.makefile_stderr("rb").read().decode(errors="replace").split("\n")
            status = channel.recv_exit_status()
            channel.close()
        if status == -1:
            raise Lost
        if status:
            said = next(
                (line.strip() for line in reversed(words) if line.strip()), f"exit {status}"
            )
            raise LocalError(f"{self.target}: {said}")
        return os.fsdecode(output)

    def start(self, script: str, *arguments: str) -> paramiko.Channel:
        """A shell script that runs there, whatever the user's own shell is."""
        with self.noticing_a_cut():
            channel = self._alive().open_session(timeout=CONNECT_S)
            channel.exec_command(shlex.join(["sh", "-c", script, "sh", *arguments]))
        return channel

    @contextmanager
    def noticing_a_cut(self) -> Iterator[None]:
        """What a cut looks like differs with the moment; all of it is `Lost`."""
        try:
            yield
        except paramiko.ChannelException as error:
            raise Refused(f"{self.target} opens no further session: {error.text}") from None
        except (paramiko.SSHException, EOFError) as error:
            raise Lost from error
        except OSError as error:
            # What SFTP refuses is an OSError too, and is no cut.
            if error.errno in (errno.ENOENT, errno.EACCES) or self._is_alive():
                raise
            raise Lost from error

    def _alive(self) -> paramiko.Transport:
        if self._transport is None or not self._transport.is_active():
            raise Lost
        return self._transport

    def _is_alive(self) -> bool:
        if self._transport is None:
            return False
        # A channel learns of the end a moment before its transport says so.
        self._transport.join(0.5)
        return self._transport.is_active()

    def _authenticate(self, transport: paramiko.Transport) -> None:
        tried: list[str] = []
        unusable: list[str] = []
        for name, key in self._keys(unusable):
            try:
                left = transport.auth_publickey(self.target.user, key)
            except paramiko.BadAuthenticationType as error:
                raise Refused(
                    f"{self.target} takes no keys, only {', '.join(error.allowed_types)}: "
                    "set PubkeyAuthentication yes there"
                ) from None
            except paramiko.SSHException:
                # After refusals it has had enough of us; before any, it is the line.
                if not (transport.is_active() or tried):
                    raise EOFError("it hung up while we logged in") from None
                tried.append(name)
            else:
                if not left:
                    self._taken = name, key
                    return
                raise Refused(
                    f"{self.target} wants more than a key ({', '.join(left)}), which cannot be given"
                )
            if not transport.is_active():
                break
        offered = (
            f"took none of the keys offered ({', '.join(tried)})" if tried else "was offered no key"
        )
        passed_over = f" ({'; '.join(unusable)})" if unusable else ""
        raise Refused(
            f"{self.target} {offered}{passed_over}: name the right one with --identity FILE or add "
            "it to your agent with ssh-add, and see that it is in ~/.ssh/authorized_keys there"
        )

    def _keys(self, unusable: list[str]) -> Iterator[tuple[str, paramiko.PKey]]:
        """The one that was asked for, then the agent's, then the usual files; when we come back, first
        the one that was taken before. Says why one of the usual files is passed over."""
        if self._taken is not None:
            yield self._taken
        if self._identity is not None:
            yield str(self._identity), self._load(self._identity)
        for key in paramiko.Agent().get_keys():
            yield f"the agent's {_fingerprint(key.asbytes())}", key
        if self._identity is None:
            for path in (Path(name).expanduser() for name in KEY_FILES):
                if path.is_file():
                    try:
                        yield str(path), self._load(path)
                    except Refused as error:
                        unusable.append(str(error))

    def _load(self, path: Path) -> paramiko.PKey:
        asked = 0
        while True:
            try:
                # cryptography's loaders want bytes and paramiko's own take both.
                return paramiko.PKey.from_path(path, self._passphrase_of(path))  # type: ignore[arg-type]
            except OSError as error:
                raise Refused(f"{path} cannot be read: {error.strerror}") from None
            except (paramiko.PasswordRequiredException, TypeError):
                before = ""
            except (ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType) as error:
                if path not in self._passphrases:
                    raise Refused(f"{path} is no private key that can be used: {error}") from None
                before = "That is not it. "
            if asked == PASSPHRASES:
                raise Refused(f"{path}: the passphrase is wrong")
            self._ask_passphrase(path, before)
            asked += 1

    def _passphrase_of(self, path: Path) -> bytes | None:
        known = self._passphrases.get(path)
        return None if known is None else known.encode()

    def _ask_passphrase(self, path: Path, before: str) -> None:
        if not sys.stdin.isatty():
            raise Refused(
                f"{path} needs a passphrase and there is no terminal to ask for it: "
                f"add the key to your agent with ssh-add {path}"
            )
        try:
            self._passphrases[path] = getpass.getpass(f"{before}Passphrase of {path}: ")
        except EOFError:
            raise Refused(f"{path}: no passphrase was given") from None


def _prefer(transport: paramiko.Transport, known: list[KnownKey]) -> None:
    """Ask for a kind of key that we know, of the several that a server has."""
    kinds = {known_key.kind for known_key in known}
    if "ssh-rsa" in kinds:
        kinds |= {"rsa-sha2-512", "rsa-sha2-256"}
    options = transport.get_security_options()
    options.key_types = sorted(options.key_types, key=lambda kind: kind not in kinds)


def _check_host_key(
    target: Target, key: paramiko.PKey, known: list[KnownKey], for_any_port: list[KnownKey]
) -> None:
    shown = f"{key.get_name()} key {_fingerprint(key.asbytes())}"
    same = [one for one in (*known, *for_any_port) if one.blob == key.asbytes()]
    if any(known_key.revoked for known_key in same):
        raise Refused(f"{target.host} has the {shown}, which {KNOWN_HOSTS} marks as revoked")
    if same:
        return
    trusted = [known_key for known_key in known if not known_key.revoked]
    if not trusted:
        raise Refused(
            f"{target.known_as} is not in {KNOWN_HOSTS}, and shows the {shown}: compare that with "
            "what `ssh-keygen -lf` says of the key in /etc/ssh there, and if it is the same, "
            f"`{_ssh(target)}` adds it"
        )
    before = ", ".join(_fingerprint(known_key.blob) for known_key in trusted)
    raise Refused(
        f"{target.known_as} shows the {shown}, and {KNOWN_HOSTS} has another ({before}): somebody "
        "may be in between; only if you know why it changed, remove the old one with "
        f"`ssh-keygen -R '{target.known_as}'` and add the new one with `{_ssh(target)}`"
    )


def _ssh(target: Target) -> str:
    port = f" -p {target.port}" if target.port != 22 else ""
    return f"ssh{port} {target.user}@{target.host}"


def _fingerprint(key: bytes) -> str:
    digest = base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
    return f"SHA256:{digest}"
