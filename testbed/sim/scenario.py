"""A scenario: one point of an experiment, once, as a world that runs.

It puts agents into communities and plays the workload and the schedule of faults.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

from agents.core.codec import Codec
from agents.core.draw import choice, derive, stream
from agents.core.errors import LocalError
from agents.core.interest import Topic
from agents.core.messages import PeerId
from agents.core.port import Port
from agents.core.protocol import Protocol
from testbed import faults
from testbed.bootstrap import Bootstrap
from testbed.model.distributions import ONE_ROUND, Distribution
from testbed.model.experiment import Experiment, Publication
from testbed.sim.network import Network
from testbed.sim.world import World


class Scenario:
    """Knows everybody's place. `world` is ready to have a recorder attached and to be run."""

    def __init__(self, experiment: Experiment, seed: int, repetition: int = 0) -> None:
        self.experiment = experiment
        self.seed = derive(seed, "repetition", repetition)
        self._bootstrap = bootstrap = Bootstrap(experiment, self.seed)
        self.topics, self.members = bootstrap.topics, bootstrap.members
        self.codec = Codec((*bootstrap.protocol.messages, *bootstrap.membership.messages))
        self.unpublished = 0
        """Events of the workload that nobody was there to publish."""
        self._groups_with: dict[str, list[int]] = {}
        """By topic: the network's groups whose agents are in it, be it among others."""
        for number, (topics, _) in enumerate(experiment.groups()):
            for topic in topics:
                self._groups_with.setdefault(topic, []).append(number)
        self._workload_random = stream(self.seed, "workload").random
        self._reconfigured: list[faults.Configure] = []
        self._crashed_early: set[PeerId] = set()
        """Who was to crash before its time to start had come, and so does not start."""
        self.world = self._make_world()
        self._schedule = faults.schedule(experiment, self.members, stream(self.seed, "faults"))

    def run(self) -> None:
        """All of it, from the first agent's start to the end."""
        world, experiment = self.world, self.experiment
        world.network.suspect(self._schedule.suspicion)
        self._note_impairments()
        spacing = experiment.bootstrap.spacing
        for position, agent in enumerate(experiment.starting_order()):
            if agent in self._schedule.stillborn:
                continue
            if spacing:
                world.at(position * spacing, partial(self._start, agent))
            else:
                world.start(agent)
        for time, step in self._schedule.steps:
            world.at(time, partial(self._play, step))
        for line in experiment.workload:
            for number in range(line.count):
                world.at(line.at + number * line.every, partial(self._publish, line))
        world.run(experiment.duration)
        if world.recorder is not None:
            world.recorder.finish()

    def _start(self, agent: PeerId) -> None:
        """At its time, unless it was made to crash before that."""
        if agent not in self._crashed_early:
            self.world.start(agent)

    def _restart(self, agent: PeerId) -> None:
        if agent in self._crashed_early:
            self._crashed_early.remove(agent)
            if self.world.now >= self._due(agent):
                self.world.start(agent)
        else:
            self.world.restart(agent)

    def _due(self, agent: PeerId) -> int:
        """When it is its turn to start."""
        before = len(self.experiment.overlay_gateways)
        position = (agent + before) % self.experiment.size
        return position * self.experiment.bootstrap.spacing

    def _make_world(self) -> World:
        experiment, asked = self.experiment, self.experiment.network
        latency: Distribution
        if isinstance(asked.latency, str):
            latency, tick_ns = ONE_ROUND, ONE_ROUND.value
        else:
            latency, tick_ns = asked.latency, asked.tick
        network = Network(
            latency=latency,
            tick_ns=tick_ns,
            rng=stream(self.seed, "network"),
            loss=asked.loss,
            losses={
                groups: pair.loss
                for pair in asked.losses
                for groups in self._pairs(pair.from_, pair.to)
            },
            group_of=[
                number
                for number, (_, count) in enumerate(experiment.groups())
                for _ in range(count)
            ],
        )
        world = World(
            seed=self.seed, tick_ns=tick_ns, network=network, make_protocol=self._make_protocol
        )
        for topics, count in experiment.groups():
            interests = tuple(Topic(name) for name in topics)
            for _ in range(count):
                world.add(*interests)
        return world

    def _pairs(self, here: str, there: str) -> Iterator[tuple[int, int]]:
        """The groups between which a loss from one community to another holds."""
        return product(self._groups_with.get(here, ()), self._groups_with.get(there, ()))

    def _make_protocol(self, port: Port) -> Protocol:
        protocol = self._bootstrap.peer(port, self.world)
        for change in self._reconfigured:  # an agent that restarts has them too
            protocol.configure(change.topic, change.parameters)
        return protocol

    def _play(self, step: faults.Step) -> None:
        world = self.world
        match step:
            case faults.Crash(agents) | faults.CrashHost(agents=agents):
                for agent in agents:
                    if world.has_lived(agent):
                        world.crash(agent)
                    elif agent not in self._schedule.stillborn:
                        self._crashed_early.add(agent)
            case faults.RestartHost(agents=agents) | faults.Restart(agents):
                for agent in range(self.experiment.size) if agents is None else agents:
                    self._restart(agent)
            case faults.Freeze(agents):
                for agent in agents:
                    world.freeze(agent)
            case faults.Thaw(agents):
                for agent in agents:
                    world.thaw(agent)
            case faults.Relink():
                raise LocalError("the simulator has no links that could be changed")
            case faults.Partition(sides):
                groups = self._groups_with
                world.network.partition(
                    {group: side for name, side in sides.items() for group in groups.get(name, ())}
                )
                for name, side in sides.items():
                    world.note_impairment("partition", side, name)
                if not sides:
                    world.note_impairment("partition", -1)
            case faults.Loss(loss, None):
                world.network.set_loss(loss)
                world.note_impairment("loss", loss)
            case faults.Loss(loss, (here, there)):
                for pair in self._pairs(here, there):
                    world.network.set_loss(loss, pair)
                world.note_impairment("loss", loss, here, there)
            case faults.Configure(topic, parameters):
                for protocol in world.protocols:
                    if protocol is not None:
                        protocol.configure(topic, parameters)
                self._reconfigured.append(step)

    def _publish(self, line: Publication) -> None:
        world = self.world
        if line.publisher == "random":
            candidates = self.members[line.topic]
        else:
            candidates = [line.publisher]
        candidates = [agent for agent in candidates if world.can_publish(agent)]
        if not candidates:
            self.unpublished += 1
            return
        publisher = choice(candidates, self._workload_random)
        world.publish(publisher, line.topic, bytes(line.bytes), line.psel)

    def _note_impairments(self) -> None:
        asked, note = self.experiment.network, self.world.note_impairment
        if asked.loss:
            note("loss", asked.loss)
        for pair in asked.losses:
            note("loss", pair.loss, pair.from_, pair.to)
        if self._schedule.suspicion:
            note("suspected", self._schedule.suspicion)
