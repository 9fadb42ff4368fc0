"""Who is in which community, and whom an agent is told of when it starts: the same on any engine."""

from collections.abc import Mapping, Sequence

from agents.core.draw import sample, sample_others, stream
from agents.core.messages import PeerId
from agents.core.overlay import make_gateway, make_peer
from agents.core.port import Port
from agents.core.protocol import Protocol
from agents.core.registry import memberships, protocols
from agents.core.setting import Directory, Setting
from testbed.contacts import Contacts, Roster
from testbed.model.experiment import Experiment


class Bootstrap:
    """Draws from the run's seed, in the order in which agents start."""

    def __init__(self, experiment: Experiment, seed: int) -> None:
        self.experiment = experiment
        self.topics = experiment.topics()
        self.protocol = protocols.load(experiment.protocol.name)
        self.membership = memberships.load(experiment.membership.name)
        self.members = _members(experiment)
        self.directory = Directory(self.topics, self.members)
        self._random = stream(seed, "bootstrap").random

    def peer(self, port: Port, roster: Roster) -> Protocol:
        """An agent that starts now, not yet started; see `setting`."""
        setting = self.setting(port.peer, roster)
        if port.peer in self.experiment.overlay_gateways:
            return make_gateway(port, setting)
        return make_peer(self.protocol, port, setting)

    def setting(self, agent: PeerId, roster: Roster) -> Setting:
        """What an agent is told that starts now; `roster` knows who joined before it."""
        experiment = self.experiment
        neighbourhood: Sequence[PeerId] = ()
        if self.protocol.searches:
            members, count = (
                range(experiment.overlay_gateways.start),
                experiment.bootstrap.neighbourhood,
            )
            neighbourhood = sample_others(members, agent, count, self._random)
        return Setting(
            topics=self.topics,
            directory=self.directory,
            membership=self.membership,
            membership_parameters=experiment.membership.parameters,
            parameters=experiment.protocol.parameters,
            topic_parameters={
                name: settings.parameters for name, settings in experiment.topic_settings.items()
            },
            contacts={} if self.membership.instant else self.contacts(agent, roster),
            super_contacts=self._super_contacts(),
            neighbourhood=neighbourhood,
        )

    def contacts(self, agent: PeerId, roster: Roster) -> Contacts:
        asked = self.experiment.bootstrap
        overlay = self.experiment.overlay_gateways or range(self.experiment.size)
        return Contacts(
            roster, agent, asked.contacts, self._random, asked.gateways, overlay=lambda: overlay
        )

    def _super_contacts(self) -> Mapping[str, Sequence[PeerId]]:
        if self.membership.instant:
            return self.members
        count = self.experiment.bootstrap.super_contacts
        if not count:
            return {}
        return {topic: sample(peers, count, self._random) for topic, peers in self.members.items()}


def _members(experiment: Experiment) -> dict[str, list[PeerId]]:
    members: dict[str, list[PeerId]] = {}
    first = 0
    for topics, count in experiment.groups():
        for topic in topics:
            members.setdefault(topic, []).extend(range(first, first + count))
        first += count
    return members
