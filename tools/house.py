"""How large the house is: `python -m tools.house` counts modules, lines and importers, and traces one `run`.

A module that exactly one other imports is usually a part of that one. Commands, pages, plots and the paper's
experiments are entrances, which are not counted there. `run` is traced in a process of its own, on a small CSV with the
default options; a module counts if a function of it was called. It ends with 1 if the house outgrows what it may be.
"""

import ast
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
SMALL, LARGE = 60, 600
MOST = {"modules": 120, "lines": 25_000, "small": 15, "single": 15, "large": 0, "run": 45}
"""How much there may be of each."""
ENTRANCES = ("cli.", "service.pages.", "plots.", "lab.paper.")
TRACED = """
import sys, threading
files = set()
def look(frame, event, arg):
    function = frame.f_code.co_flags & 1  # CO_OPTIMIZED: neither a module nor the body of a class, which importing runs
    if event == "call" and function and "privtally" in frame.f_code.co_filename:
        files.add(frame.f_code.co_filename)
threading.setprofile(look)
sys.setprofile(look)
from privtally.cli import main
sys.argv = ["privtally", "run", "answers.csv", "--epsilon", "2"]
try:
    main()
except SystemExit as ended:
    assert not ended.code
sys.setprofile(None)
print(*sorted(files), sep="\\n", file=sys.stderr)
"""


def modules() -> dict[str, Path]:
    """Every module by its name below the package."""
    return {
        ".".join(path.relative_to(SOURCE / "privtally").with_suffix("").parts).removesuffix(".__init__"): path
        for path in (SOURCE / "privtally").rglob("*.py")
    }


def importers(known: dict[str, Path]) -> dict[str, set[str]]:
    """The modules that import each module, at whatever depth."""
    users: dict[str, set[str]] = defaultdict(set)
    for user, path in known.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privtally"):
                home = (node.module or "").removeprefix("privtally").removeprefix(".")
                for alias in node.names:
                    inner = f"{home}.{alias.name}".removeprefix(".")
                    users[inner if inner in known else home].add(user)
    return {module: others - {module} for module, others in users.items()}


def executed() -> list[str]:
    """The files of the package of which `run` on a CSV calls a function."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "answers.csv").write_text("smokes,sport\n" + "no,daily\nyes,never\n" * 200, encoding="utf-8")
        (place / "answers.toml").write_text(
            '[[attributes]]\nname = "smokes"\nlabels = ["no", "yes"]\n'
            '[[attributes]]\nname = "sport"\nlabels = ["never", "daily"]\n',
            encoding="utf-8",
        )
        said = subprocess.run(
            [sys.executable, "-c", TRACED],
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            capture_output=True,
            text=True,
            check=True,
        )
    return [line for line in said.stderr.splitlines() if line.endswith(".py")]


def main() -> int:
    """Print what there is, and say whether it is too much."""
    known = modules()
    lines = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in known.items()}
    users = importers(known)
    rooms = [module for module, path in known.items() if path.name != "__init__.py"]
    small = [module for module in rooms if lines[module] < SMALL]
    single = [module for module in rooms if len(users.get(module, ())) == 1 and not module.startswith(ENTRANCES)]
    large = [module for module in rooms if lines[module] > LARGE]
    traced = executed()
    print(f"{len(known)} modules, {sum(lines.values()):,} lines")
    print(f"{len(small)} below {SMALL} lines: {', '.join(sorted(small))}")
    print(f"{len(single)} imported by exactly one other: {', '.join(sorted(single))}")
    print(f"above {LARGE} lines: {', '.join(large) or 'none'}")
    print(f"{len(traced)} modules have a function that `run` on a CSV calls")
    sizes = (len(known), sum(lines.values()), len(small), len(single), len(large), len(traced))
    over = [f"{name} {size} > {most}" for (name, most), size in zip(MOST.items(), sizes, strict=True) if size > most]
    if over:
        print(f"The house is too large: {', '.join(over)}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
