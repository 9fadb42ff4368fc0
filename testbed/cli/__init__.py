"""The command line: one thin command a file. Each parses, calls the library, and prints.

Exit codes: 0 all is well; 1 it ran and the result is not what was asked for; 2 the input is wrong;
3 the set-up could not be done (the launcher's); 4 the machine failed us, a full disk for instance;
130 interrupted.
"""

import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from agents.core.errors import LocalError
from analysis.errors import AnalysisError
from testbed.cli import elsewhere

NOT_AS_ASKED = 1
BAD_INPUT = 2
MACHINE_FAILED = 4
INTERRUPTED = 130

app = typer.Typer(
    cls=elsewhere.Commands,
    invoke_without_command=True,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Run and measure peer-to-peer publish/subscribe protocols, for real and in simulation.",
)


@app.callback()
def command_line(
    context: typer.Context,
    on: Annotated[
        str | None,
        typer.Option(metavar="USER@HOST[:PORT]", help="Run the command on another machine."),
    ] = None,
    identity: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --on: the private key to use.")
    ] = None,
    remote_path: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="With --on: a checkout there, from the home folder; else this code is sent.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --on: go on with what was left there.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        if not resume:
            raise LocalError("which command? `testbed --help` lists them")
        elsewhere.resume(on, identity)


def main() -> None:
    """Run a command; whatever goes wrong is a sentence, not a trace."""
    for name, command in _commands().items():
        app.command(name=name)(command)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character of a title or path is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    # An interrupt that comes while asyncio winds up is an interrupt, and nobody's forgotten await.
    warnings.filterwarnings("ignore", "coroutine 'BaseEventLoop.shutdown_", RuntimeWarning)
    try:
        code = app(prog_name="testbed", standalone_mode=False, obj=app.registered_commands)
        sys.stdout.flush()
    except BaseException as error:
        _explain(error)
    if code == INTERRUPTED:
        _leave("interrupted", INTERRUPTED)
    sys.exit(code)


def _commands() -> dict[str, Callable[..., None]]:
    """In the order in which they are listed. What needs Spark or the LAN's packages is imported by
    the commands themselves, so that each runs where only its own needs are met."""
    from testbed.cli import (
        analyze,
        churn,
        collect,
        crash,
        doctor,
        down,
        exec_,
        freeze,
        logs,
        loss,
        partition,
        protocols,
        publish,
        report,
        reproduce,
        restart,
        run,
        simulate,
        status,
        sweep,
        up,
    )

    return {
        "doctor": doctor.doctor,
        "up": up.up,
        "status": status.status,
        "publish": publish.publish,
        "crash": crash.crash,
        "restart": restart.restart,
        "freeze": freeze.freeze,
        "thaw": freeze.thaw,
        "partition": partition.partition,
        "heal": partition.heal,
        "loss": loss.loss,
        "churn": churn.churn,
        "exec": exec_.exec_,
        "logs": logs.logs,
        "collect": collect.collect,
        "down": down.down,
        "run": run.run,
        "simulate": simulate.simulate,
        "sweep": sweep.sweep,
        "analyze": analyze.analyze,
        "report": report.report,
        "reproduce": reproduce.reproduce,
        "protocols": protocols.protocols,
    }


def _explain(error: BaseException) -> NoReturn:
    match error:
        case elsewhere.EndedThere():
            sys.exit(error.code)
        case typer.TyperException():
            _leave(error.format_message(), BAD_INPUT)
        case LocalError() | AnalysisError():
            _leave(str(error), BAD_INPUT)
        # Typer and rich make a SystemExit of a pipe that nobody reads any more.
        case BrokenPipeError() | SystemExit(__context__=BrokenPipeError()):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(INTERRUPTED)
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            _leave_without_output(f"{where}{error.strerror or error}")
        case MemoryError():
            _leave_without_output("there is not enough memory")
        case BrokenProcessPool(__cause__=None):
            _leave_without_output("a worker process was killed, for want of memory perhaps")
        case KeyboardInterrupt():
            _leave("interrupted", INTERRUPTED)
        case _:
            _leave(_failure(error), NOT_AS_ASKED)


def _failure(error: BaseException) -> str:
    """An error that nobody foresaw, in a user's protocol most likely: what and where, in a line."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    # An error in a worker has its trace there as a text, as its cause.
    trace = str(error.__cause__ or "") or "".join(traceback.format_tb(error.__traceback__))
    places = re.findall(r'File "(.+)", line (\d+)', trace)
    where = " ({}:{})".format(*places[-1]) if places else ""
    return "; ".join([f"it failed: {what}{where}", *getattr(error, "__notes__", ())])


def _leave_without_output(message: str) -> NoReturn:
    """When it may be our own output that could not be written: not try again on the way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _leave(message, MACHINE_FAILED)


def _leave(message: str, code: int) -> NoReturn:
    if message:
        print(f"testbed: {message}", file=sys.stderr)
    sys.exit(code)
