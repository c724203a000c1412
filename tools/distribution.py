"""What is in the packages of a release: all that privtally needs, and nothing that it does not.

Run it as `python -m tools.distribution DIRECTORY`.
"""

import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from tools import ROOT

NO_CODE = ("__pycache__", ".pyc", ".db", ".parquet", ".ndjson.gz", ".DS_Store")
"""Endings and folders that belong into no package."""
BESIDE = ("LICENSE", "THIRD_PARTY.md", "CITATION.cff", "pyproject.toml", "requirements.lock", "Makefile")
"""Files that an sdist has beside the source."""

FROZEN = "tests/golden/"
"""Documents and tables of each version, which belong to the tests."""


def faults_of_wheel(names: Iterable[str]) -> list[str]:
    """What a wheel lacks of `src/privtally`, and what it has from elsewhere."""
    within = {name for name in names if ".dist-info/" not in name}
    wanted = {file.relative_to(ROOT / "src").as_posix() for file in _files(ROOT / "src/privtally")}
    return [f"lacks {name}" for name in sorted(wanted - within)] + [f"has {name}" for name in sorted(within - wanted)]


def faults_of_sdist(names: Iterable[str]) -> list[str]:
    """What an sdist lacks of the source and of the files beside it, and what it should not have."""
    within = {name.partition("/")[2] for name in names}
    wanted = {file.relative_to(ROOT).as_posix() for file in _files(ROOT / "src/privtally")} | set(BESIDE)
    checked = {name for name in within if not name.startswith(FROZEN)}
    unwanted = {name for name in checked if _unwanted(name) or name.startswith(("build/", ".venv/"))}
    return [f"lacks {name}" for name in sorted(wanted - within)] + [f"has {name}" for name in sorted(unwanted)]


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and not _unwanted(file.as_posix())]


def _unwanted(name: str) -> bool:
    return any(part in name if part.startswith("_") else name.endswith(part) for part in NO_CODE)


def main(directory: Path) -> int:
    """Check the one wheel and the one sdist in a directory; the exit code is 1 if something is wrong."""
    (wheel,), (sdist,) = directory.glob("*.whl"), directory.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as packed, tarfile.open(sdist) as rolled:
        faults = {
            wheel: faults_of_wheel(packed.namelist()),
            sdist: faults_of_sdist(member.name for member in rolled.getmembers() if member.isfile()),
        }
    for path, found in faults.items():
        print(f"{path.name}: {path.stat().st_size / 1000:,.0f} kB, {'; '.join(found) or 'complete'}")
    return 1 if any(faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
