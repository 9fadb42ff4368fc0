"""What must hold between the fields of an experiment: topics that exist, agents that are there.

Each check reports at the field that would have to be changed. A part that is `None` was wrong in
itself; nothing is said about it again, nor about what cannot be known without it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from agents.core.errors import TopicError
from agents.core.topics import Topics
from analysis.names import EVERYWHERE, SHARES, has_communities, has_everywhere
from testbed.model.distributions import ONE_ROUND, ROUNDS, is_always_zero, typical
from testbed.model.draft import Draft
from testbed.model.engine_checks import check_engine
from testbed.model.errors import FieldPath, Found, listing, near_miss
from testbed.model.expect import COMPARISONS, Expectation
from testbed.model.experiment import Experiment, Network, Publication
from testbed.model.faults import Chosen, Churn, Configure, Loss, Partition
from testbed.model.parts import MAX_AGENTS
from testbed.model.sweep import Label
from testbed.model.units import format_duration

MAX_CHURN = 1_000_000
"""Crashes of one line. Ours: they are drawn before the run begins."""
MAX_TOPICS = 10_000
MAX_LEVELS = 200
"""Ours: a name alone reaches 128."""


class Checks:
    """The checks of one experiment, and what they found."""

    def __init__(self, experiment: Experiment | Draft, labels: Mapping[str, Label]) -> None:
        self.experiment = experiment
        self.labels = labels
        self.found: list[Found] = []
        self.topics = self._hierarchy()
        self.groups = self._groups()
        self.size: int | None = None
        self.members: Counter[str] = Counter()
        if self.groups is not None:
            self.size = sum(count for _, count in self.groups)
            for topics, count in self.groups:
                self.members.update(dict.fromkeys(topics, count))

    def run(self) -> list[Found]:
        self._agents()
        self._network()
        self._workload()
        for number, fault in enumerate(self.experiment.faults or ()):
            path = ("faults", number)
            if isinstance(fault, Chosen):
                self._chosen(fault, path)
            match fault:
                case Churn():
                    self._churn(fault, path)
                case Partition():
                    self._partition(fault, path)
                case Configure():
                    self._known(fault.topic, (*path, "topic"))
                case Loss(from_=str() as sender, to=str() as receiver):
                    self._known(sender, (*path, "from"))
                    self._known(receiver, (*path, "to"))
            self._in_time(getattr(fault, "at", None), (*path, "at"))
        self._partitions_apart()
        self.found += check_engine(self.experiment, self.size)
        for number, line in enumerate(self.experiment.expect or ()):
            if line is not None and line.is_meant_for(self.labels):
                self._expectation(line, ("expect", number))
        return self.found

    def _report(self, path: FieldPath, message: str, at_key: bool = False) -> None:
        self.found.append(Found(path, message, at_key))

    # Topics

    def _hierarchy(self) -> Topics | None:
        """The topics that there are; `None` where that cannot be said."""
        root, communities = self.experiment.root, self.experiment.communities
        if root is None or communities is None:
            return None
        topics = Topics(root)
        for topic in communities:
            try:
                topics.add_path(topic)
            except TopicError as error:
                self._report(("communities", topic), str(error), True)
            if len(topics) > MAX_TOPICS:
                self._report(("communities",), f"makes more than {MAX_TOPICS} topics")
                return None
        self._further_parents(topics)
        try:
            deep = topics.depth > MAX_LEVELS
        except RecursionError:
            deep = True
        if deep:
            self._report(("topics",), f"makes a hierarchy of more than {MAX_LEVELS} levels")
        return topics

    def _further_parents(self, topics: Topics) -> None:
        for topic, settings in (self.experiment.topic_settings or {}).items():
            self._known(topic, ("topics", topic), topics, at_key=True)
            for position, parent in enumerate(settings.parents if settings else ()):
                path = ("topics", topic, "parents", position)
                self._known(parent, path, topics)
                if topic in topics and parent in topics:
                    try:
                        topics.add_parent(topic, parent)
                    except TopicError as error:
                        self._report(path, str(error))

    def _known(
        self, topic: str, path: FieldPath, topics: Topics | None = None, at_key: bool = False
    ) -> bool:
        topics = topics or self.topics
        if topics is None or topic in topics or topic in (self.experiment.communities or ()):
            return True
        declared = f"there are {listing(topics)}{near_miss(topic, topics)}"
        message = f"topic {topic} is not among the communities: {declared}"
        self._report(path, message, at_key)
        return False

    def _all_known(self, topics: Iterable[str], path: FieldPath) -> bool:
        unknown = [topic for n, topic in enumerate(topics) if not self._known(topic, (*path, n))]
        return not unknown

    # Agents

    def _groups(self) -> list[tuple[tuple[str, ...], int]] | None:
        """As `Experiment.groups`; `None` where a count is not known."""
        communities, agents = self.experiment.communities, self.experiment.agents
        bootstrap = self.experiment.bootstrap
        if communities is None or agents is None or bootstrap is None:
            return None
        if not self.experiment.counted:
            return None
        groups: list[tuple[tuple[str, ...], int]] = []
        for topic, count in communities.items():
            if count is None:
                return None
            groups.append(((topic,), count))
        for group in agents:
            if group is None:
                return None
            groups.append((group.topics, group.count))
        groups.append(((), bootstrap.overlay_gateways))
        return groups

    def _among(self, communities: Sequence[str] | None) -> int | None:
        """How many agents are in one or more of the communities, by default in any; `None` if that
        is not known."""
        if self.groups is None:
            return None
        if communities is None:
            return sum(count for topics, count in self.groups if topics)
        wanted = set(communities)
        return sum(count for topics, count in self.groups if not wanted.isdisjoint(topics))

    def _agents(self) -> None:
        for number, group in enumerate(self.experiment.agents or ()):
            if group is not None:
                self._all_known(group.topics, ("agents", number, "topics"))
        bootstrap, end = self.experiment.bootstrap, self.experiment.duration
        if (
            bootstrap
            and end is not None
            and self.size
            and bootstrap.spacing * (self.size - 1) > end
        ):
            last = format_duration(bootstrap.spacing * (self.size - 1))
            message = f"the last of {self.size} agents would start at {last}"
            self._report(
                ("bootstrap", "spacing"), f"{message}, after the duration of {format_duration(end)}"
            )
        if self._among(None) == 0:
            self._report(("communities",), "has no agents at all: give a community at least 1")
        elif self.size is not None and self.size > MAX_AGENTS:
            message = f"has {self.size} agents with those under agents, at most {MAX_AGENTS} can be"
            self._report(("communities",), message)

    def _is_empty(self, topic: str) -> bool:
        """Whether nobody is in it, where others have somebody."""
        return self.topics is not None and bool(self._among(None)) and not self.members[topic]

    def _exists(self, agent: int, path: FieldPath) -> None:
        if self.size and agent >= self.size:
            self._report(path, f"there is no agent {agent}: they are numbered 0 to {self.size - 1}")

    def _chosen(self, fault: Chosen, path: FieldPath) -> None:
        known = self._all_known(fault.communities or (), (*path, "communities"))
        there = self._among(fault.communities)
        if known and there is not None and fault.count is not None and fault.count > there:
            whose = f"in {listing(fault.communities)}" if fault.communities else "at all"
            message = f"must be at most {there}, the agents {whose}, is {fault.count}"
            self._report((*path, "count"), message)
        for position, agent in enumerate(fault.agents or ()):
            self._exists(agent, (*path, "agents", position))

    # Network, time and events

    def _network(self) -> None:
        network = self.experiment.network
        if network is None:
            return
        latency, tick = network.latency, network.tick
        if latency == ROUNDS and tick is not None and tick != Network().tick:
            self._report(
                ("network", "tick"), "a round is the tick of latency: rounds: leave it out"
            )
        if latency is not None and tick is not None and not isinstance(latency, str):
            least = typical(latency)
            if least < tick:
                message = f"must be at least the tick of {format_duration(tick)}"
                self._report(("network", "latency"), f"{message}, is {format_duration(least)}")
        pairs = set()
        for number, loss in enumerate(network.losses or ()):
            if loss is None:
                continue
            path: FieldPath = ("network", "losses", number)
            self._known(loss.from_, (*path, "from"))
            self._known(loss.to, (*path, "to"))
            if (loss.from_, loss.to) in pairs:
                self._report(path, f"the loss from {loss.from_} to {loss.to} was given before")
            pairs.add((loss.from_, loss.to))

    def _workload(self) -> None:
        for number, publication in enumerate(self.experiment.workload or ()):
            if publication is None:
                continue
            path = ("workload", number)
            self._in_time(publication.at, (*path, "at"))
            self._whole_rounds(publication.at, (*path, "at"))
            self._whole_rounds(publication.every, (*path, "every"))
            self._all_in_time(publication, path)
            known = self._known(publication.topic, (*path, "topic"))
            if publication.publisher != "random":
                self._exists(publication.publisher, (*path, "publisher"))
            elif known and self._is_empty(publication.topic):
                message = f"nobody is in {publication.topic}, so name a publisher"
                self._report((*path, "topic"), message)

    def _all_in_time(self, publication: Publication, path: FieldPath) -> None:
        end, first = self.experiment.duration, publication.at
        last = first + (publication.count - 1) * publication.every
        if end is not None and first <= end < last:
            message = f"the last of {publication.count} events would be at {format_duration(last)}"
            self._report(
                (*path, "count"), f"{message}, after the duration of {format_duration(end)}"
            )

    def _whole_rounds(self, time: int | None, path: FieldPath) -> None:
        network = self.experiment.network
        in_rounds = network is not None and network.latency == ROUNDS
        if in_rounds and time is not None and time % ONE_ROUND.value:
            message = f"must be whole rounds of {format_duration(ONE_ROUND.value)}"
            self._report(path, f"{message}, is {format_duration(time)}")

    def _in_time(self, at: int | None, path: FieldPath) -> None:
        end = self.experiment.duration
        if at is not None and end is not None and at > end:
            message = f"must be at most the duration of {format_duration(end)}"
            self._report(path, f"{message}, is {format_duration(at)}")

    # Single faults

    def _churn(self, fault: Churn, path: FieldPath) -> None:
        self._all_known(fault.communities or (), (*path, "communities"))
        self._in_time(fault.from_, (*path, "from"))
        for name, distribution in (("on", fault.on), ("off", fault.off)):
            if is_always_zero(distribution):
                self._report((*path, name), "must be more than 0s")
        agents, turn = self._among(fault.communities), typical(fault.on) + typical(fault.off)
        if agents and turn and agents * (fault.until - fault.from_) > MAX_CHURN * turn:
            self._report((*path, "on"), f"makes more than {MAX_CHURN} crashes: take longer times")

    def _partitions_apart(self) -> None:
        """One at a time: the end of one heals the network."""
        cuts = [
            (n, f) for n, f in enumerate(self.experiment.faults or ()) if isinstance(f, Partition)
        ]
        for (first, earlier), (second, later) in pairwise(sorted(cuts, key=lambda cut: cut[1].at)):
            if earlier.until is not None and later.at < earlier.until:
                message = f"begins before faults[{first}] ends: partitions come one after another"
                self._report(("faults", second, "at"), message)

    def _partition(self, fault: Partition, path: FieldPath) -> None:
        for number, group in enumerate(fault.groups):
            self._all_known(group, (*path, "groups", number))
        for number, agents in enumerate(self.experiment.agents or ()):
            if agents is None:
                continue
            sides = [side for side in fault.groups if not set(side).isdisjoint(agents.topics)]
            if len(sides) > 1:
                message = f"agents[{number}] are in more than one of the groups"
                self._report((*path, "groups"), message)

    # Expectations

    def _expectation(self, line: Expectation, path: FieldPath) -> None:
        metric, community = line.metric, line.community
        if metric in SHARES:
            for name in (*COMPARISONS, "within"):
                value = getattr(line, name)
                if value is not None and value > 1:
                    number = str(value).removesuffix(".0")
                    message = f"must be at most 1, as {metric} is a share, is {number}"
                    self._report((*path, name), message)
        if community == EVERYWHERE:
            if not has_everywhere(metric):
                message = f"{metric} is not measured over all communities together: name one"
                self._report((*path, "community"), message)
        elif not has_communities(metric):
            message = f"{metric} is measured over all communities together: leave out community"
            self._report((*path, "community"), message)
        elif self._known(community, (*path, "community")) and self._is_empty(community):
            message = f"nobody is in {community}, so that nothing can be measured there"
            self._report((*path, "community"), message)


def check_between(
    experiment: Experiment | Draft, labels: Mapping[str, Label] | None = None
) -> list[Found]:
    """All that is wrong between the fields, at the point of a sweep that has these labels."""
    return Checks(experiment, labels or {}).run()
