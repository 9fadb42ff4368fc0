"""Judged expectations as JUnit XML, which servers of continuous integration show.

A suite for each run folder, a test case for each line at each of its points.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

from analysis.expectations import Judged

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, be it escaped."""


def write(path: Path, judged: Iterable[Judged]) -> None:
    """The whole file, or none: nobody ever reads half of one. An `OSError` is the caller's."""
    data = document(judged)
    if path.exists() and not path.is_file():  # a device or a pipe cannot be put in place of
        path.write_bytes(data)
        return
    # Beside the file itself, not beside a link to it.
    target = path.resolve()
    unfinished = target.with_name(f"{target.name}.part")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(target)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        # By the name that was given; the other one is nobody's concern.
        raise OSError(error.errno, error.strerror, str(path)) from error


def document(judged: Iterable[Judged]) -> bytes:
    lines = list(judged)
    root = ElementTree.Element("testsuites", _suite("expectations", lines))
    for run, group in groupby(lines, key=lambda line: line.run):
        of_run = list(group)
        suite = ElementTree.SubElement(root, "testsuite", _suite(str(run), of_run))
        for line in of_run:
            _case(suite, line)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _case(suite: ElementTree.Element, line: Judged) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=_text(line.experiment), name=_text(line.name), time="0"
    )
    sentence = _text(line.sentence)
    if line.holds:
        ElementTree.SubElement(case, "system-out").text = sentence
    else:
        failure = ElementTree.SubElement(case, "failure", message=sentence, type="expectation")
        failure.text = sentence


def _suite(name: str, lines: list[Judged]) -> dict[str, str]:
    return {
        "name": _text(name),
        "tests": str(len(lines)),
        "failures": str(sum(not line.holds for line in lines)),
        "errors": "0",
        "skipped": "0",
        "time": "0",
    }


def _text(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
