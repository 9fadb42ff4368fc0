"""`python -m agents.host FOLDER`: the supervisor of the machine whose folder that is."""

import sys
from pathlib import Path

from agents.core.errors import LocalError
from agents.host.supervisor import supervise


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m agents.host FOLDER", file=sys.stderr)
        return 2
    try:
        supervise(Path(arguments[0]))
    except LocalError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
