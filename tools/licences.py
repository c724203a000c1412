"""THIRD_PARTY.md: the licences of what privtally needs and carries, from the metadata of what is installed.

Run it as `python -m tools.licences`.
"""

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import ROOT

FOR_MAKERS = ("dev", "docs", "release")
"""Extras for those who change privtally; nobody else installs them."""

_STATIC = "src/privtally/service/pages/static"
VENDORED = {f"{_STATIC}/htmx.min.js": ("htmx 2.0.11", "0BSD", f"{_STATIC}/htmx.LICENSE")}
"""Files of others in this repository: what each is, its licence, and where its text stands."""

ALLOWED = {
    "0BSD",
    "any-OSI",  # apsw: any licence that the Open Source Initiative approved
    "Apache-2.0",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "LLVM-exception",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "MPL-2.0",  # asks that changes to its own files stay open; we change none
    "PSF-2.0",
    "Zlib",
}
"""Licences under which an MIT-licensed program may depend on another."""

_SPELLED = {
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}


def main() -> None:
    """Write THIRD_PARTY.md anew."""
    needed = sorted(with_all_below(stated(run_time=True)))
    makers = sorted(stated(run_time=False) - set(needed))
    lines = [
        "# Licences of others",
        "",
        "privtally is under the [MIT licence](LICENSE). This page lists what it needs and what it carries.",
        "`python -m tools.licences` writes it from the metadata of the versions in `requirements.lock`.",
        "A test allows licences that go with MIT, and no others.",
        "",
        "## Files in this repository",
        "",
        "| file | is | licence |",
        "|---|---|---|",
        *(f"| `{file}` | {name} | [{licence}]({text}) |" for file, (name, licence, text) in VENDORED.items()),
        "",
        "## Packages at run time",
        "",
        "With all extras that are for users, and whatever those packages need themselves.",
        "",
        *_table(needed),
        "",
        "## Packages for those who change privtally",
        "",
        f"The extras {', '.join(f'`{extra}`' for extra in FOR_MAKERS)}. None of them is installed with privtally.",
        "",
        *_table(makers),
        "",
    ]
    (ROOT / "THIRD_PARTY.md").write_text("\n".join(lines))


def stated(*, run_time: bool) -> set[str]:
    """The packages that pyproject.toml names itself, of users or of makers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    requirements = list(project["dependencies"]) if run_time else []
    for extra, own in extras.items():
        if (extra not in FOR_MAKERS) == run_time:
            requirements += own
    names: set[str] = {canonicalize_name(Requirement(text).name) for text in requirements}
    return names - {"privtally"}


def allows(expression: str) -> bool:
    """Whether an SPDX expression, or a classifier's name, holds allowed licences only; of an OR any one will do."""
    choices = re.split(r"\s+OR\s+", expression.replace("(", "").replace(")", ""))
    return any(all(name in ALLOWED for name in re.split(r"\s+(?:AND|WITH)\s+", choice)) for choice in choices)


def with_all_below(names: Iterable[str]) -> set[str]:
    """These packages and all that they need, of what is installed."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        requirements = [Requirement(text) for text in distribution(name).requires or []]
        waiting += [
            canonicalize_name(requirement.name)
            for requirement in requirements
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        ]
    return found


def _table(names: Iterable[str]) -> list[str]:
    rows = [f"| {name} | {_licence(distribution(name))} |" for name in names]
    return ["| package | licence |", "|---|---|", *rows]


def _licence(package: Distribution) -> str:
    """What the metadata say: an expression, a name of one line, classifiers, or the first line of a whole licence."""
    metadata = package.metadata
    (given, *_) = [*(metadata.get_all("License-Expression") or metadata.get_all("License") or []), ""]
    classified = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or [] if "License ::" in line]
    if classified and (not given or "\n" in given):
        return " AND ".join(_SPELLED.get(name, name) for name in classified)
    title = given.partition("\n")[0].strip()
    return _SPELLED.get(title, title) or "unknown"


if __name__ == "__main__":
    main()
