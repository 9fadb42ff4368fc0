"""The supervisor: a machine's first process.

It imports everything once and then forks an agent for each slot, so that they share its memory. It
makes their sockets before it forks, so that they can be reached as soon as they are there. It reaps
whatever ends on the machine, and kills, spawns, freezes and thaws agents on command; the kernel tells
it when that is done. When it is told to end, or ends for whatever reason, so do its agents.

A process must not be forked inside a running event loop. So the loop is stopped for the moment that
it takes, and goes on in the parent.
"""

import asyncio
import gc
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Literal, NoReturn

from agents.core.errors import LocalError
from agents.core.messages import PeerId
from agents.host import commands
from agents.host.agent import Life, live
from agents.host.control import Connection, ControlError, ControlServer, Request, listen_at
from agents.host.journal import FOLDER, JournalWriter, next_life
from agents.host.machine import read_machine
from agents.host.transport import bind

SOCKET = "supervisor.sock"
State = Literal["running", "frozen", "dead"]


def agent_socket(folder: Path, agent: PeerId) -> Path:
    return folder / f"agent-{agent}.sock"


class Slot:
    """One agent of the machine: its present or last life."""

    def __init__(self, agent: PeerId) -> None:
        self.agent = agent
        self.pid = 0
        self.life = -1
        self.state: State = "dead"
        self.exit: int | None = None
        """The code it ended with; or the signal, negative."""
        self.changed = asyncio.Event()

    def change(self, state: State) -> None:
        self.state = state
        self.changed.set()

    async def wait_for(self, *states: State) -> None:
        while self.state not in states:
            self.changed.clear()
            await self.changed.wait()

    def describe(self) -> Mapping[str, Any]:
        ended = self.exit
        return {
            "pid": self.pid,
            "life": self.life,
            "state": self.state,
            "exit": ended if ended is not None and ended >= 0 else None,
            "signal": -ended if ended is not None and ended < 0 else None,
        }


class Supervisor:
    """Everything in the machine's folder is its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read()
        self._journals = folder / FOLDER
        self._journals.mkdir(mode=0o700, exist_ok=True)
        self._loop = asyncio.new_event_loop()
        self._control = ControlServer(commands.OF_MACHINE, self._handle)
        self._to_fork: list[tuple[Slot, asyncio.Future[None]]] = []
        self._ending = False
        # Only the supervisor keeps the end that is written to: when it dies, the other one ends.
        self._agents_end, self._own_end = os.pipe()

    def _read(self) -> None:
        self.machine = read_machine(self.folder)
        self._protocol, self._membership = self.machine.load()
        self._slots = {agent: Slot(agent) for agent in self.machine.agents}

    def run(self) -> None:
        """Until a signal or a command ends it."""
        loop = self._loop
        loop.add_signal_handler(signal.SIGCHLD, self._reap)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        gc.collect()
        gc.freeze()
        for slot in self._slots.values():
            self._fork(slot)
        # Last of all: who finds this socket finds the agents' ones, too.
        loop.run_until_complete(self._control.serve(listen_at(self.folder / SOCKET)))
        while not self._ending:
            loop.run_forever()
            while self._to_fork:
                self._fork_and_tell(*self._to_fork.pop())
        self._kill_all()

    async def _handle(self, request: Request, connection: Connection) -> Mapping[str, Any]:
        match request:
            case commands.MachineStatus():
                agents = {str(agent): slot.describe() for agent, slot in self._slots.items()}
                return {"host": self.machine.host, "name": self.machine.name, "agents": agents}
            case commands.Kill(agent=agent):
                slot = self._living(agent)
                os.kill(slot.pid, signal.SIGKILL)
                await slot.wait_for("dead")
            case commands.Freeze(agent=agent):
                slot = self._living(agent)
                os.kill(slot.pid, signal.SIGSTOP)
                await slot.wait_for("frozen", "dead")
            case commands.Thaw(agent=agent):
                slot = self._living(agent)
                os.kill(slot.pid, signal.SIGCONT)
                await slot.wait_for("running", "dead")
            case commands.Spawn(agent=agent):
                slot = self._slot(agent)
                if slot.state != "dead":
                    raise ControlError(f"agent {agent} is {slot.state} already")
                await self._forked(slot)
            case commands.Reload():
                return await self._reload()
            case commands.Shutdown():
                self._loop.call_soon(self._end)
                return {}
            case _:
                raise AssertionError(f"nobody handles {request!r}")
        return slot.describe()

    async def _reload(self) -> Mapping[str, Any]:
        for slot in self._slots.values():
            if slot.state != "dead":
                os.kill(slot.pid, signal.SIGKILL)
                await slot.wait_for("dead")
        for name in os.listdir(self._journals):
            os.unlink(self._journals / name)
        self._read()
        for slot in self._slots.values():
            await self._forked(slot)
        return {}

    def _slot(self, agent: PeerId) -> Slot:
        if agent not in self._slots:
            here = ", ".join(map(str, self._slots)) or "none"
            raise ControlError(f"agent {agent} is not on {self.machine.name}, which has {here}")
        return self._slots[agent]

    def _living(self, agent: PeerId) -> Slot:
        slot = self._slot(agent)
        if slot.state == "dead":
            raise ControlError(f"agent {agent} is dead")
        return slot

    # Births

    async def _forked(self, slot: Slot) -> None:
        told = self._loop.create_future()
        self._to_fork.append((slot, told))
        self._loop.stop()
        await told

    def _fork_and_tell(self, slot: Slot, told: "asyncio.Future[None]") -> None:
        try:
            self._fork(slot)
        except LocalError as error:
            told.set_exception(error)
        else:
            told.set_result(None)

    def _fork(self, slot: Slot) -> None:
        agent = slot.agent
        if slot.state != "dead":
            raise ControlError(f"agent {agent} is {slot.state} already")
        number = next_life(self._journals, agent)
        with ExitStack() as childs:
            bound = bind(self.machine.transport, self.machine.addresses[agent])
            childs.callback(bound.close)
            control = listen_at(agent_socket(self.folder, agent))
            childs.callback(control.close)
            # From now on the life counts, however short it will be.
            journal = JournalWriter(self._journals, self.machine, agent, number)
            childs.callback(journal.close)
            slot.pid = self._fork_for(
                Life(
                    machine=self.machine,
                    agent=agent,
                    number=number,
                    protocol=self._protocol,
                    membership=self._membership,
                    journal_folder=self._journals,
                    journal=journal,
                    bound=bound,
                    control=control,
                    supervisor=self._agents_end,
                )
            )
        slot.life, slot.exit = number, None
        slot.change("running")

    def _fork_for(self, life: Life) -> int:
        # A signal between the fork and the child's own handlers would be told to the parent.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = os.fork()
            if not pid:
                self._become(life, held)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
        return pid

    def _become(self, life: Life, signals: set[int | signal.Signals]) -> NoReturn:
        """The child's way. It keeps the supervisor's objects to the end, for they would close
        what has long been somebody else's."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            own = (life.bound.fileno(), life.control.fileno(), life.journal.fileno())
            kept = {0, 1, 2, *own, life.supervisor}
            for name in os.listdir("/proc/self/fd"):
                if int(name) not in kept:
                    try_to(os.close, int(name))  # the folder's own is gone by now
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
            code = live(life)
        finally:
            os._exit(code)

    # Deaths

    def _reap(self) -> None:
        """Whatever changed: an agent, or a process that somebody ran here and nobody waits for."""
        flags = os.WNOHANG | os.WUNTRACED | os.WCONTINUED
        while True:
            try:
                pid, status = os.waitpid(-1, flags)
            except ChildProcessError:
                return
            if not pid:
                return
            for slot in self._slots.values():
                if slot.pid == pid and slot.state != "dead":
                    self._note(slot, status)

    def _note(self, slot: Slot, status: int) -> None:
        if os.WIFSTOPPED(status):
            slot.change("frozen")
        elif os.WIFCONTINUED(status):
            slot.change("running")
        else:
            slot.exit = os.waitstatus_to_exitcode(status)
            slot.change("dead")

    def _end(self) -> None:
        self._ending = True
        self._loop.stop()

    def _kill_all(self) -> None:
        for slot in self._slots.values():
            if slot.state != "dead":
                try_to(os.kill, slot.pid, signal.SIGKILL)
                try_to(os.waitpid, slot.pid, 0)


def try_to(act: Callable[..., object], *arguments: object) -> None:
    """Where it is fine if somebody else did it before."""
    with suppress(OSError):
        act(*arguments)


def supervise(folder: Path) -> None:
    """Run the machine in this folder; whatever is printed goes into its `log.txt`."""
    os.umask(0o077)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    supervisor = Supervisor(folder)
    log = os.open(folder / "log.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    supervisor.run()
