"""JUnit XML: the structure that its readers agree on, whatever the sentences have in them."""

import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.expectations import Judged
from analysis.junit import document, write


def judged(
    holds: bool, sentence: str = "as measured", run: str = "runs/x", name: str = "rounds: at most 9"
) -> Judged:
    return Judged(Path(run), "small", name, holds, sentence)


def read(path: Path) -> ElementTree.Element:
    return ElementTree.parse(path).getroot()


def test_a_suite_is_a_run_and_a_case_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    lines = [judged(True), judged(False, "too slow"), judged(True, run="runs/y")]
    write(path, lines)
    assert (
        path.read_text()
        == """\
<?xml version='1.0' encoding='utf-8'?>
<testsuites name="expectations" tests="3" failures="1" errors="0" skipped="0" time="0">
  <testsuite name="runs/x" tests="2" failures="1" errors="0" skipped="0" time="0">
    <testcase classname="small" name="rounds: at most 9" time="0">
      <system-out>as measured</system-out>
    </testcase>
    <testcase classname="small" name="rounds: at most 9" time="0">
      <failure message="too slow" type="expectation">too slow</failure>
    </testcase>
  </testsuite>
  <testsuite name="runs/y" tests="1" failures="0" errors="0" skipped="0" time="0">
    <testcase classname="small" name="rounds: at most 9" time="0">
      <system-out>as measured</system-out>
    </testcase>
  </testsuite>
</testsuites>
"""
    )


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["runs/x", "runs/y"]))))
def test_the_counts_are_those_of_the_cases(lines: list[tuple[bool, str]]) -> None:
    root = ElementTree.fromstring(document(judged(holds, run=run) for holds, run in lines))
    assert int(root.attrib["tests"]) == len(lines)
    for suite in (root, *root):
        assert int(suite.attrib["tests"]) == len(list(suite.iter("testcase")))
        assert int(suite.attrib["failures"]) == len(list(suite.iter("failure")))


def test_nothing_to_judge_is_a_document_too() -> None:
    root = ElementTree.fromstring(document([]))
    assert (root.tag, root.attrib["tests"], list(root)) == ("testsuites", "0", [])


def test_what_means_something_in_xml_comes_back_as_it_was() -> None:
    sentence = "a < b & c > d: \"loss\" = 'ü', ]]> – 1 000"
    root = ElementTree.fromstring(document([judged(False, sentence, name=sentence)]))
    (case,) = root.iter("testcase")
    (failure,) = case
    assert (case.get("name"), failure.get("message"), failure.text) == (sentence,) * 3


@given(st.text(st.characters()))
def test_any_text_gives_xml_that_can_be_read(text: str) -> None:
    lines = [judged(holds, text, name=text, run=f"runs/{text}") for holds in (True, False)]
    root = ElementTree.fromstring(document(lines))
    assert len(list(root.iter("testcase"))) == 2


def test_a_name_of_a_folder_that_is_no_unicode_is_written_all_the_same() -> None:
    name = os.fsdecode(b"runs/\xff")
    (suite,) = ElementTree.fromstring(document([judged(True, run=name)]))
    assert suite.get("name") == "runs/\N{REPLACEMENT CHARACTER}"


# The file.


def test_a_file_that_is_there_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text("of yesterday, and longer than what comes now" * 100)
    write(path, [judged(True)])
    assert read(path).attrib["tests"] == "1"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "target.xml", tmp_path / "link.xml"
    target.write_text("")
    link.symlink_to(target)
    write(link, [judged(True)])
    assert link.is_symlink()
    assert read(target).attrib["tests"] == "1"


def test_a_device_is_written_to_and_not_put_away(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe, [judged(True)])
        assert ElementTree.fromstring(os.read(reader, 65536)).attrib["tests"] == "1"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["missing/junit.xml", "file/junit.xml", "folder"])
def test_a_path_that_cannot_be_written_to_is_the_callers_oserror(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as caught:  # noqa: PT011
        write(tmp_path / name, [judged(True)])
    assert caught.value.filename == str(tmp_path / name)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]
