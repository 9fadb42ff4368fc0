"""Names what the tests that need netem use of a folder of Python modules: files and whole packages."""

import importlib
import sys
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(Path(__file__).parents[2]))
for name in (
    "pytest",
    "_pytest.assertion.rewrite",
    "tests.conftest",
    "tests.lan.network.test_netem",
):
    importlib.import_module(name)

used: set[str] = set()
for module in list(sys.modules.values()):
    file = Path(getattr(module, "__file__", None) or "/")
    if file.is_relative_to(folder):
        name = file.relative_to(folder).parts[0]
        if name in ("site-packages", "lib-dynload"):
            continue
        used.add(name)
        used.update(f"__pycache__/{pyc.name}" for pyc in folder.glob(f"__pycache__/{file.stem}.*"))
print("\n".join(sorted(used)))
