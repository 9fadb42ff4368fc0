"""Somebody at the command line who has a small LAN, and what can be seen of it from outside."""

import gzip
import json
import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agents.core.journal import Header, Record
from tests.support import command_line
from tests.support.waiting import wait_until

SMALL = """\
name: small
root: .a
switches: {lan: {}}
hosts: [{name: pc, count: 4, switch: lan, agents: 2, link: {rate: 100mbit}}]
communities: {.a.d.g: 3, .a.d: 2, .a: 1, .a.b: 2}
"""
"""Agents 0 to 2 are in .a.d.g, 3 and 4 in .a.d, 5 in .a, 6 and 7 in .a.b; agent 5 is on pc2."""

UPSTREAM = frozenset(range(6))
"""Those whom an event of .a.d.g concerns."""


class LanUser:
    """Calls `testbed` in a folder of its own, on the LAN of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        (folder / "small.yaml").write_text(SMALL)

    def start(self, *arguments: str | Path, session: bool = False) -> subprocess.Popen[str]:
        """With a session, what it starts can be reached all at once, as from a terminal."""
        before = os.setsid if session else None
        return command_line.start(self.folder, *arguments, "--name", self.name, before=before)

    def call(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        behind = arguments.index("--") if "--" in arguments else len(arguments)
        named = (*arguments[:behind], "--name", self.name, *arguments[behind:])
        return command_line.run(self.folder, *named)

    def do(self, *arguments: str | Path) -> str:
        """What must succeed, and what it printed."""
        done = self.call(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, *arguments: str | Path) -> Any:
        return json.loads(self.do(*arguments, "--json"))

    def up(self, runtime: str = "namespace", *options: str) -> None:
        self.do("up", "--topology", "small.yaml", "--runtime", runtime, *options)

    def delivered(self) -> dict[str, int]:
        rows = self.ask("status")["communities"]
        return {row["community"]: row["delivered"] for row in rows}

    def wait_for(self, **status: Any) -> None:
        """Until `status` says so."""
        wait_until(
            lambda: status.items() <= self.ask("status").items(), f"the status shows {status}"
        )

    def wait_until_joined(self) -> None:
        def have_joined() -> bool:
            rows = self.ask("status")["communities"]
            return all(row["joined"] == row["agents"] for row in rows)

        wait_until(have_joined, "all have joined")

    def publish_until_heard(self, topic: str, *heard_in: str, options: Sequence[str] = ()) -> None:
        """Gossips reach everybody with a probability only: so often that all of these have."""

        def is_heard() -> bool:
            self.do("publish", topic, "--psel", "1", *options)
            now = self.delivered()
            return all(now[community] > before[community] for community in heard_in)

        before = self.delivered()
        wait_until(is_heard, f"an event of {topic} is heard in {heard_in}")

    def collect(self) -> "Journal":
        found = self.ask("collect")
        assert found["problems"] == []
        return Journal(next(Path(self.folder, found["run"], "journal").iterdir()))


class Journal:
    """One that was collected."""

    def __init__(self, path: Path) -> None:
        header, *lines = gzip.decompress(path.read_bytes()).splitlines()
        self.header = msgspec.json.decode(header, type=Header)
        self.records = [msgspec.json.decode(line, type=Record) for line in lines]

    def of(self, kind: str, **fields: Any) -> list[Record]:
        return [
            record
            for record in self.records
            if record.kind == kind
            and all(getattr(record, name) == value for name, value in fields.items())
        ]

    def dropped(self) -> Counter[str]:
        """By cause; what was refused has arrived."""
        found: Counter[str] = Counter()
        for record in self.of("drop"):
            if record.cause != "refused":
                found[record.cause] += record.copies
        return found

    def unexplained(self) -> int:
        return len(self.of("send")) - len(self.of("receive")) - self.dropped().total()

    def events(self) -> set[str]:
        return {record.event for record in self.of("publish")}


def journals_of(run: Path) -> dict[tuple[int, int], Journal]:
    """A run folder's, by point and repetition."""
    found = [Journal(path) for path in sorted((run / "journal").iterdir())]
    return {(journal.header.point, journal.header.repetition): journal for journal in found}
