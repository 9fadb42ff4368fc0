"""Who may import whom: the tree is the architecture, and this holds it up.

Rules are data. Each says for which modules it is, and what they may not import or what alone they
may. What is imported is read from the source, nothing is run; an import inside a function or under
`TYPE_CHECKING` counts like any other, and so does `import_module` of a name that is written out.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
OURS = ("agents", "testbed", "analysis")

OUTSIDE_WORLD = (
    # Sockets and other machines
    *("socket", "socketserver", "ssl", "select", "selectors", "http", "urllib", "ftplib"),
    # Clocks
    *("time", "datetime", "sched"),
    # Files and the machine
    *("os", "pathlib", "io", "shutil", "tempfile", "glob", "fileinput", "sqlite3"),
    # Other threads and processes
    *("asyncio", "threading", "_thread", "multiprocessing", "concurrent", "subprocess", "signal"),
    # Randomness that no seed governs
    *("random", "secrets", "uuid"),
)


def within(name: str, packages: Iterable[str]) -> bool:
    """Whether the name is one of these packages, or something in one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@dataclass(frozen=True)
class Rule:
    """What holds for the modules in `for_modules`."""

    name: str
    for_modules: tuple[str, ...]
    never: tuple[str, ...] = ()
    only_of_ours: tuple[str, ...] = OURS
    only_libraries: tuple[str, ...] | None = None
    """Beside the standard library; `None` for any."""
    all_the_same: tuple[str, ...] = ()
    """What is allowed although it lies in `never`."""

    def allows(self, imported: str) -> bool:
        if within(imported, self.never) and not within(imported, self.all_the_same):
            return False
        if within(imported, OURS):
            return within(imported, self.only_of_ours)
        top = imported.partition(".")[0]
        return (
            self.only_libraries is None
            or top in sys.stdlib_module_names
            or within(imported, self.only_libraries)
        )


RULES = (
    Rule(
        "agents stand on the standard library and msgspec alone, so that the image stays small",
        for_modules=("agents",),
        only_of_ours=("agents",),
        only_libraries=("msgspec",),
    ),
    Rule(
        "the core knows nothing of what is built upon it",
        for_modules=("agents.core",),
        only_of_ours=("agents.core",),
    ),
    Rule(
        "protocols know no socket, clock, file or global random",
        for_modules=("agents.protocols",),
        never=OUTSIDE_WORLD,
        only_of_ours=("agents.core", "agents.protocols"),
        all_the_same=("random.Random",),
    ),
    Rule(
        "memberships know no socket, clock, file or global random, and no protocol",
        for_modules=("agents.membership",),
        never=OUTSIDE_WORLD,
        only_of_ours=("agents.core", "agents.membership"),
        all_the_same=("random.Random",),
    ),
    Rule(
        "the analysis knows the journal's records and nothing else of ours",
        for_modules=("analysis",),
        only_of_ours=("analysis", "agents.core.journal"),
    ),
    Rule(
        "what an experiment says does not depend on what runs it",
        for_modules=("testbed.model",),
        never=("testbed.sim", "testbed.lan", "testbed.cli"),
    ),
    Rule(
        "what an experiment says needs no Spark: of the analysis it knows the metrics' names",
        for_modules=("testbed.model",),
        only_of_ours=("agents", "testbed", "analysis.names"),
    ),
    Rule(
        "the metrics' names are there for everybody, so they bring nothing with them",
        for_modules=("analysis.names",),
        only_of_ours=(),
        only_libraries=(),
    ),
)


# What a file imports


def imports(source: str, module: str, *, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """The line and the full name of everything that is imported; `from a import b` is `a.b`."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=base, names=names, level=level):
                start = _absolute(package, base or "", level)
                yield from ((node.lineno, f"{start}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Name(id="__import__" | "import_module")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def _absolute(package: str, base: str, level: int) -> str:
    if not level:
        return base
    parts = package.split(".")
    above = parts[: len(parts) - (level - 1)]
    return ".".join([*above, base] if base else above)


def breaches(rule: Rule, source: str, module: str, *, is_package: bool = False) -> list[str]:
    """A line for each import that the rule does not allow."""
    if not within(module, rule.for_modules):
        return []
    return [
        f"{module}:{line} imports {name}: {rule.name}"
        for line, name in sorted(imports(source, module, is_package=is_package))
        if not rule.allows(name)
    ]


def our_files() -> Iterator[tuple[Path, str, bool]]:
    """Every file of ours, with its module's name and whether that is a package."""
    for top in OURS:
        for path in sorted((REPOSITORY / top).rglob("*.py")):
            parts = path.relative_to(REPOSITORY).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            yield path, ".".join(parts[:-1] if is_package else parts), is_package


# The repository


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_nothing_in_the_repository_breaches_the_rule(rule: Rule) -> None:
    assert [
        breach
        for path, module, is_package in our_files()
        for breach in breaches(rule, path.read_text(), module, is_package=is_package)
    ] == []


def test_the_walk_sees_the_files_that_the_rules_are_for() -> None:
    modules = {module for _, module, _ in our_files()}
    assert {"agents", "agents.core.codec", "agents.protocols.gossip", "testbed.sim"} <= modules
    assert {"agents.membership.static", "agents.protocols.camcast", "testbed.model"} <= modules


# The checker

CORE, PROTOCOL, MEMBERSHIP = "agents.core.new", "agents.protocols.new", "agents.membership.new"


def all_breaches(source: str, module: str, *, is_package: bool = False) -> list[str]:
    return [b for rule in RULES for b in breaches(rule, source, module, is_package=is_package)]


@pytest.mark.parametrize(
    ("module", "source", "imported"),
    [
        ("agents.host.udp", "import numpy", "numpy"),
        ("agents.host.udp", "import yaml.nodes", "yaml.nodes"),
        ("agents.host.udp", "from testbed import model", "testbed.model"),
        ("agents.api", "def f():\n    import testbed.sim.local", "testbed.sim.local"),
        ("agents.api", "import os, analysis", "analysis"),
        ("agents.api", "import msgspecial", "msgspecial"),
        (CORE, "from agents.protocols.camcast import Camcast", "agents.protocols.camcast.Camcast"),
        (CORE, "from agents import membership", "agents.membership"),
        (CORE, "from ..protocols import gossip", "agents.protocols.gossip"),
        (CORE, "from .. import host", "agents.host"),
        (CORE, "import importlib\nimportlib.import_module('agents.host')", "agents.host"),
        (CORE, "__import__('agents.protocols.gossip')", "agents.protocols.gossip"),
        (PROTOCOL, "import socket", "socket"),
        (PROTOCOL, "import time as clock", "time"),
        (PROTOCOL, "from time import monotonic", "time.monotonic"),
        (PROTOCOL, "import asyncio.events", "asyncio.events"),
        (PROTOCOL, "import random", "random"),
        (PROTOCOL, "from random import randrange", "random.randrange"),
        (PROTOCOL, "from random import *", "random.*"),
        (PROTOCOL, "import os.path", "os.path"),
        (PROTOCOL, "from pathlib import Path", "pathlib.Path"),
        (PROTOCOL, "from datetime import datetime", "datetime.datetime"),
        (PROTOCOL, "import threading", "threading"),
        (PROTOCOL, "if TYPE_CHECKING:\n    from os import PathLike", "os.PathLike"),
        (PROTOCOL, "try:\n    import uuid\nexcept ImportError: ...", "uuid"),
        (PROTOCOL, "from agents.host import udp", "agents.host.udp"),
        (PROTOCOL, "from agents.membership.static import *", "agents.membership.static.*"),
        ("agents.protocols.camcast.community", "import secrets", "secrets"),
        (MEMBERSHIP, "import time", "time"),
        (MEMBERSHIP, "from random import choice", "random.choice"),
        (MEMBERSHIP, "from agents.protocols import gossip", "agents.protocols.gossip"),
        ("analysis.metrics", "from agents.core.codec import Codec", "agents.core.codec.Codec"),
        ("analysis.metrics", "from agents.core import *", "agents.core.*"),
        ("analysis.metrics", "import agents.core", "agents.core"),
        ("analysis.metrics", "import testbed.runs", "testbed.runs"),
        (
            "testbed.model.files",
            "from testbed.sim.engine import Engine",
            "testbed.sim.engine.Engine",
        ),
        ("testbed.model.files", "from ..sim import engine", "testbed.sim.engine"),
        ("testbed.model.expect", "from analysis.job import Result", "analysis.job.Result"),
        ("testbed.model.expect", "from analysis import metrics", "analysis.metrics"),
        ("analysis.names", "from analysis.metrics import SHARES", "analysis.metrics.SHARES"),
        ("analysis.names", "import pyspark", "pyspark"),
    ],
)
def test_a_breach_is_found(module: str, source: str, imported: str) -> None:
    found = all_breaches(source, module)
    assert found
    assert all(f" imports {imported}: " in breach for breach in found)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("agents.host.udp", "import asyncio, socket, time, random, msgspec.msgpack"),
        ("agents.host.udp", "from agents.core.codec import Codec"),
        ("agents.core.registry", "import_module(f'{package}.{name}')"),
        ("agents.core.new", "from .messages import Event"),
        (PROTOCOL, "import math, collections.abc, msgspec"),
        (PROTOCOL, "from random import Random"),
        (PROTOCOL, "from agents.protocols.gossip import Gossip"),
        (PROTOCOL, "from agents.core import draw"),
        ("analysis.metrics", "from agents.core.journal import Record"),
        ("analysis.metrics", "from agents.core import journal"),
        ("analysis.metrics", "import pyspark.sql, analysis.theory"),
        ("testbed.model.files", "import yaml\nfrom agents.core.registry import protocols"),
        ("testbed.sim.engine", "import time\nfrom testbed.model import Experiment"),
        ("testbed.model.expect", "from analysis.names import is_metric"),
        ("testbed.cli.analyze", "import analysis"),
        ("agentsmith", "import testbed"),
    ],
)
def test_what_is_allowed_is_not_taken_for_a_breach(module: str, source: str) -> None:
    assert all_breaches(source, module) == []


def test_a_breach_says_where_what_and_why() -> None:
    assert all_breaches("\nimport time\n", PROTOCOL) == [
        "agents.protocols.new:2 imports time: "
        "protocols know no socket, clock, file or global random"
    ]


def test_a_packages_relative_imports_start_at_the_package_itself() -> None:
    source = "from .messages import Spread\nfrom .. import gossip\nfrom ...host import udp"
    found = [name for _, name in imports(source, "agents.protocols.camcast", is_package=True)]
    assert found == [
        "agents.protocols.camcast.messages.Spread",
        "agents.protocols.gossip",
        "agents.host.udp",
    ]
