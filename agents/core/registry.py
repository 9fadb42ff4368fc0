"""Protocols and memberships by name.

A name is one of ours (its module registers itself on its last line), one that an installed package
offers under the entry points `testbed.protocols` or `testbed.memberships`, or a place in a file:
`path/to/file.py:ClassName`.
"""

import importlib
import importlib.util
import pkgutil
import re
import sys
from hashlib import blake2b
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

from agents.core.errors import LocalError
from agents.core.membership import Membership
from agents.core.protocol import Protocol

T = TypeVar("T", bound=type[Protocol] | type[Membership])


class Registry(Generic[T]):
    """One kind of thing by name."""

    def __init__(self, what: str, package: str, base: type) -> None:
        self._what = what
        self._package = package
        self._base = base
        self._known: dict[str, T] = {}

    def register(self, thing: T) -> T:
        name = thing.name
        if self._known.setdefault(name, thing) is not thing:
            raise LocalError(f"two {self._what}s are called {name!r}")
        return thing

    def names(self) -> list[str]:
        """All that can be had by a bare name."""
        self._import_ours()
        return sorted({*self._known, *(point.name for point in self._entry_points())})

    def load(self, name: str) -> T:
        """The class of that name, or a `LocalError` that says what there is."""
        if ":" in name:
            return self._from_file(name)
        self._import_ours()
        if name in self._known:
            return self._known[name]
        for point in self._entry_points():
            if point.name == name:
                return self._from_package(point)
        raise LocalError(f"no {self._what} is called {name!r}; there are {', '.join(self.names())}")

    def _entry_points(self) -> list[importlib.metadata.EntryPoint]:
        return list(entry_points(group=f"testbed.{self._what}s"))

    def _import_ours(self) -> None:
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self._package}.{module.name}")

    def _from_package(self, point: importlib.metadata.EntryPoint) -> T:
        try:
            thing = point.load()
        except Exception as error:  # the package may be anybody's
            what = f"{self._what} {point.name!r} ({point.value})"
            raise LocalError(
                f"{what} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        return self._checked(thing, point.value)

    def _from_file(self, place: str) -> T:
        path, _, class_name = place.rpartition(":")
        module = _module_from_file(Path(path))
        thing = getattr(module, class_name, None)
        if thing is None:
            raise LocalError(f"{path} has no class {class_name!r}")
        return self._checked(thing, place)

    def _checked(self, thing: object, place: str) -> T:
        if not (isinstance(thing, type) and issubclass(thing, self._base)):
            raise LocalError(f"{place} is no subclass of {self._base.__name__}")
        return thing  # type: ignore[return-value]


def _module_from_file(path: Path) -> ModuleType:
    path = path.resolve()
    name = _module_name(path)
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise LocalError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LocalError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise LocalError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _module_name(path: Path) -> str:
    """The same in every process, so that what is pickled in one can be found in another."""
    digest = blake2b(bytes(path), digest_size=8).hexdigest()
    return f"testbed_user_{re.sub(r'[^A-Za-z0-9]', '_', path.stem)}_{digest}"


protocols: Registry[type[Protocol]] = Registry("protocol", "agents.protocols", Protocol)
memberships: Registry[type[Membership]] = Registry("membership", "agents.membership", Membership)
