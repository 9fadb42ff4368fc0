"""Whom an event is meant for, held against the protocols' own idea of the hierarchy."""

from typing import Any

import pytest

from agents.core.topics import Topics
from analysis.hierarchy import including


def experiment(
    *communities: str, root: str = ".", agents: tuple[str, ...] = (), **parents: list[str]
) -> dict[str, Any]:
    return {
        "root": root,
        "communities": dict.fromkeys(communities, 1),
        "agents": [{"topics": list(agents), "count": 1}] if agents else [],
        "topics": {"." + name: {"parents": above} for name, above in parents.items()},
    }


def test_a_topic_is_included_by_itself_and_by_all_above() -> None:
    assert including(experiment(".a.b.c"))[".a.b.c"] == [".a.b.c", ".a.b", ".a", "."]


def test_the_root_is_included_by_itself_alone() -> None:
    assert including(experiment(".a"))["."] == ["."]


def test_a_root_of_its_own_ends_the_way_up() -> None:
    found = including(experiment(".a.d.g", root=".a"))
    assert found == {".a.d.g": [".a.d.g", ".a.d", ".a"], ".a.d": [".a.d", ".a"], ".a": [".a"]}


def test_further_parents_include_it_with_all_above_them_and_each_once() -> None:
    found = including(experiment(".a", ".b.c", a=[".b.c", ".d"]))
    assert sorted(found[".a"]) == sorted([".a", ".", ".b.c", ".b", ".d"])


def test_topics_of_agents_of_several_count_too() -> None:
    assert ".x.y" in including(experiment(".a", agents=(".x.y", ".a")))


@pytest.mark.parametrize("topic", [".a", ".a.b", ".c.d", "."])
def test_it_agrees_with_the_protocols_topics(topic: str) -> None:
    parents = {".a.b": (".c.d",), ".c.d": (".e",)}
    topics = Topics()
    for name in (".e", ".c", ".c.d", ".a", ".a.b"):
        topics.add(name, parents.get(name, ()))
    data = experiment(".a.b", ".c.d", ".e")
    data["topics"] = {name: {"parents": list(above)} for name, above in parents.items()}
    assert set(including(data)[topic]) == {topic, *topics.ancestors(topic)}
