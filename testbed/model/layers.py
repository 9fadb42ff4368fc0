"""Protocols and memberships that files name: finding their classes, and checking what is said of
them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.core.errors import LocalError
from agents.core.protocol import Protocol
from agents.core.registry import Registry, memberships, protocols
from testbed.model.draft import Draft
from testbed.model.errors import FieldPath, Found, listing, near_miss
from testbed.model.experiment import Bootstrap, Experiment, Layer
from testbed.model.faults import Configure
from testbed.model.parameters import ParameterCheck


def anchored(name: object, folder: Path) -> object:
    """The name of a class in a file, made independent of where the reader stands."""
    if not isinstance(name, str) or ":" not in name:
        return name
    path, _, class_name = name.rpartition(":")
    return f"{folder / path}:{class_name}"


class Layers:
    """Looks each class up once, however many points a sweep has."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[str, str], Any] = {}
        self._checks: dict[type, ParameterCheck | str] = {}

    def check(self, experiment: Experiment | Draft) -> list[Found]:
        """Everything about the protocol, the membership and the parameters of both."""
        found: list[Found] = []
        protocol = self._load("protocol", protocols, experiment.protocol, found)
        membership = self._load("membership", memberships, experiment.membership, found)
        if protocol and membership:
            found += _fit(protocol, membership, "membership")
        if protocol:
            found += _means_nothing_to(protocol, experiment)
        if membership:
            found += _bootstrap(membership, experiment)
        if membership and experiment.membership:
            found += self._parameters(membership, experiment.membership, "membership")
        if protocol and experiment.protocol:
            found += self._parameters(protocol, experiment.protocol, "protocol")
            found += self._parameters_of_topics(protocol, experiment, experiment.protocol)
        return found

    def _load(
        self, what: str, registry: Registry[Any], layer: Layer | None, found: list[Found]
    ) -> Any:
        """The class, or `None` where there is none and that was said."""
        if layer is None:
            return None
        key = (what, layer.name)
        if key not in self._loaded:
            self._loaded[key] = _loaded(what, registry, layer.name)
        thing = self._loaded[key]
        if isinstance(thing, str):
            found.append(Found((what, "name"), thing))
            return None
        return thing

    def _checker(self, thing: Any) -> ParameterCheck | str:
        if thing not in self._checks:
            try:
                self._checks[thing] = ParameterCheck(_name(thing), thing.Parameters)
            except Exception as error:  # the class may be anybody's
                self._checks[thing] = f"{error}"
        return self._checks[thing]

    def _parameters(self, thing: Any, layer: Layer, what: str) -> list[Found]:
        checker = self._checker(thing)
        if isinstance(checker, str):
            return [Found((what,), checker)]
        values = layer.parameters
        return checker.each(values, (what,)) or checker.together(values, (what,))

    def _parameters_of_topics(
        self, thing: Any, experiment: Experiment | Draft, layer: Layer
    ) -> list[Found]:
        """The single topics' own, and those that change while running."""
        checker = self._checker(thing)
        if isinstance(checker, str):
            return []
        common = layer.parameters
        sound = not (checker.each(common, ()) or checker.together(common, ()))
        found: list[Found] = []
        own: dict[str, Mapping[str, Any]] = {}

        def judge(values: Mapping[str, Any], beneath: Mapping[str, Any], path: FieldPath) -> bool:
            wrong = checker.each(values, path)
            if sound and values and not wrong:
                wrong = checker.together({**beneath, **values}, path)
            found.extend(wrong)
            return not wrong

        of_topics = experiment.topic_settings if thing.by_topic else None
        for topic, settings in (of_topics or {}).items():
            if settings and judge(settings.parameters, common, ("topics", topic, "parameters")):
                own[topic] = settings.parameters
        changes = [
            (n, f) for n, f in enumerate(experiment.faults or ()) if isinstance(f, Configure)
        ]
        for number, fault in sorted(changes, key=lambda change: change[1].at):
            if thing.configure is Protocol.configure:
                message = f"{_name(thing)} has no parameters that can change while it runs"
                found.append(Found(("faults", number, "kind"), message))
                continue
            beneath = {**common, **own.get(fault.topic, {})}
            if judge(fault.parameters, beneath, ("faults", number, "parameters")):
                own[fault.topic] = {**own.get(fault.topic, {}), **fault.parameters}
        return found


def _loaded(what: str, registry: Registry[Any], name: str) -> Any:
    """The class, or the sentence that says why there is none."""
    try:
        return registry.load(name)
    except LocalError as error:
        return f"{error}" + ("" if ":" in name else near_miss(name, registry.names()))
    except Exception as error:  # a module or a package of anybody's
        return f"the {what} {name!r} cannot be loaded: {type(error).__name__}: {error}"


def _name(thing: Any) -> str:
    return str(getattr(thing, "name", thing.__name__))


def _means_nothing_to(protocol: Any, experiment: Experiment | Draft) -> list[Found]:
    """What the file says and the protocol would ignore."""
    found = []
    for topic, settings in (experiment.topic_settings or {}).items():
        if settings and settings.parameters and not protocol.by_topic:
            message = f"{_name(protocol)} has the same parameters for every topic"
            found.append(Found(("topics", topic, "parameters"), message))
    for number, line in enumerate(experiment.workload or ()):
        if line and line.psel is not None and not protocol.passes_up:
            message = f"{_name(protocol)} passes nothing up: leave it out"
            found.append(Found(("workload", number, "psel"), message))
    return found


def _bootstrap(membership: Any, experiment: Experiment | Draft) -> list[Found]:
    """Whether agents come in as the membership needs it."""
    bootstrap, name = experiment.bootstrap, _name(membership)
    found = []
    if membership.instant:
        for field in ("contacts", "gateways", "super_contacts"):
            if bootstrap and getattr(bootstrap, field) != getattr(Bootstrap(), field):
                message = f"{name} tables need nobody to ask: leave it out"
                found.append(Found(("bootstrap", field), message))
        return found
    if bootstrap and not bootstrap.contacts:
        message = f"must be at least 1: with {name}, who knows nobody stays alone"
        found.append(Found(("bootstrap", "contacts"), message))
    if isinstance(experiment, Experiment) and experiment.duration is None:
        message = f"is missing: with {name} joining takes time, so say how long, such as 60s"
        found.append(Found(("duration",), message))
    return found


def _fit(protocol: Any, membership: Any, what: str) -> list[Found]:
    can = protocol.memberships
    if can is None or _name(membership) in can:
        return []
    names = listing(sorted(can), "or")
    message = f"{_name(protocol)} needs {names} as its membership, not {_name(membership)}"
    return [Found((what,), message)]
