"""`testbed --on user@host …`: any command, on another machine."""

import inspect
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from typer.core import TyperGroup
from typer.models import CommandInfo, OptionInfo

from agents.core.errors import LocalError


class EndedThere(Exception):
    """The command ran on another machine; what there is to say was said there."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Commands(TyperGroup):
    """Our commands, which run here unless another machine was named."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        found = super().resolve_command(ctx, args)
        on = ctx.params["on"]
        if on is None:
            for option in ("identity", "remote_path", "resume"):
                if ctx.params[option]:
                    raise LocalError(f"--{option.replace('_', '-')} needs --on: on which machine?")
            return found
        if ctx.params["resume"]:
            raise LocalError(f"--resume takes no command: it goes on with what was left on {on}")
        # paramiko is not there in the environments of commands that run here.
        from testbed.remote.session import run_on

        paths = path_options(ctx.obj, args[0])
        raise EndedThere(run_on(on, args, paths, ctx.params["identity"], ctx.params["remote_path"]))


def resume(on: str | None, identity: Path | None) -> None:
    """What `--resume` does."""
    if on is None:
        raise LocalError("--resume needs --on: on which machine?")
    from testbed.remote.session import resume_on

    raise EndedThere(resume_on(on, identity))


def path_options(commands: Iterable[CommandInfo], name: str) -> dict[str, Path | None]:
    """The options by which a command is told where to write, with their defaults."""
    (function,) = (info.callback for info in commands if info.name == name)
    assert function is not None
    return dict(_path_options(function))


def _path_options(function: Callable[..., Any]) -> Iterable[tuple[str, Path | None]]:
    hints = typing.get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind, *extras = typing.get_args(hints[name]) or (hints[name],)
        option = next((extra for extra in extras if isinstance(extra, OptionInfo)), None)
        if option is not None and Path in (kind, *typing.get_args(kind)):
            default = parameter.default if isinstance(parameter.default, Path) else None
            for spelling in option.param_decls or (f"--{name.replace('_', '-')}",):
                yield spelling, default
