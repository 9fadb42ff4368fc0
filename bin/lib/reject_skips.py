"""Fails if a JUnit report lists skipped tests: ``reject_skips.py REPORT``."""

import sys
from xml.etree import ElementTree


def skipped_tests(report: str) -> list[str]:
    """Expected failures stand in the report as skipped too, but they did run."""
    found = []
    for case in ElementTree.parse(report).iter("testcase"):
        skip = case.find("skipped")
        if skip is not None and skip.get("type") != "pytest.xfail":
            name = f"{case.get('classname')}::{case.get('name')}"
            found.append(f"{name} ({skip.get('message')})")
    return found


def main(report: str) -> int:
    try:
        skipped = skipped_tests(report)
    except ElementTree.ParseError:
        print("bin/test: pytest ended before it wrote its report: see above.", file=sys.stderr)
        return 1
    if not skipped:
        return 0
    print(
        f"bin/test: {len(skipped)} skipped where every test must run (CI=true); provide what they "
        f"need, or leave their tier out with PYTEST_ADDOPTS: {'; '.join(skipped)}",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
