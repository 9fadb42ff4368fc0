"""`testbed protocols`: what can be run, and with what parameters."""

from typing import Any

import msgspec
from rich.console import Console

from agents.core.errors import LocalError
from agents.core.registry import Registry, memberships
from agents.core.registry import protocols as registered


def protocols() -> None:
    """List the protocols and memberships, with their parameters and defaults."""
    console = Console(highlight=False, soft_wrap=True)
    for title, registry in (("protocols", registered), ("memberships", memberships)):
        console.print(title, style="bold")
        for name in registry.names():
            print(f"  {name}: {_parameters(registry, name)}")


def _parameters(registry: Registry[Any], name: str) -> str:
    try:
        thing = registry.load(name)
    except LocalError as error:  # a broken package hides itself, not the others
        return str(error)
    return ", ".join(map(_parameter, msgspec.structs.fields(thing.Parameters))) or "no parameters"


def _parameter(field: msgspec.structs.FieldInfo) -> str:
    if field.default is not msgspec.NODEFAULT:
        return f"{field.name}={field.default!r}"
    if field.default_factory is not msgspec.NODEFAULT:
        return f"{field.name}={field.default_factory()!r}"
    return field.name
