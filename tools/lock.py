"""requirements.lock: the installed versions, each with the hashes of all its files that a supported Python may take.

Run it as `python -m tools.lock`. What the service needs stands first, so that `make demo` can install it alone.
"""

import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distributions
from urllib.request import Request, urlopen

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from tools import ROOT
from tools.licences import with_all_below

SERVICE, REST = "# What the service needs, and what builds privtally.", "# What the tests and the makers need as well."
"""The comments above the two parts of the lock."""

OWN = ("pip", "privtally", "setuptools")
"""What an environment has by itself, and what is being installed."""


def main() -> None:
    """Write the lock anew."""
    found = {canonicalize_name(own.name): Version(own.version) for own in distributions()}
    versions = {name: version for name, version in sorted(found.items()) if name not in OWN}
    with ThreadPoolExecutor(8) as threads:
        blocks = dict(zip(versions, threads.map(_block, versions.items(), [_index()] * len(versions)), strict=True))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    stated = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["serve"]]
    stated += project["build-system"]["requires"]
    service = with_all_below(canonicalize_name(Requirement(text).name) for text in stated)
    first, rest = ([blocks[name] for name in versions if (name in service) == wanted] for wanted in (True, False))
    (ROOT / "requirements.lock").write_text("\n".join([SERVICE, *first, REST, *rest, ""]))


def hashes_of(page: str, name: str, version: Version) -> list[str]:
    """The hashes of a version's files on a page of the index: the sdist, and wheels for CPython 3.11 or newer."""
    files = re.findall(r"#sha256=([0-9a-f]{64})[^>]*>\s*([^<\s]+)\s*<", page)
    return sorted({own for own, file in files if _fits(file, name, version)})


def _fits(file: str, name: str, version: Version) -> bool:
    try:
        if not file.endswith(".whl"):
            return parse_sdist_filename(file) == (name, version)
        found, other, _, tags = parse_wheel_filename(file)
    except ValueError:  # an egg or an installer
        return False
    wanted = any(re.fullmatch(r"py[23]|py3\d+|cp31[1-9]t?", tag.interpreter) or tag.abi == "abi3" for tag in tags)
    return (found, other) == (name, version) and wanted


def _block(package: tuple[str, Version], index: str) -> str:
    name, version = package
    with urlopen(Request(f"{index}/{name}/", headers={"Accept": "text/html"}), timeout=60) as page:  # noqa: S310  # as pip
        hashes = hashes_of(page.read().decode(), name, version)
    if not hashes:
        sys.exit(f"the package index has no file of {name} {version}; install a version that it has")
    return " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{own}" for own in hashes)])


def _index() -> str:
    """The package index that pip is set to ask, as its help states it."""
    told = subprocess.check_output([sys.executable, "-m", "pip", "download", "--help"], text=True)
    found = re.search(r"--index-url <url>.*?\(default\s+(\S+?)/?\)", told, flags=re.DOTALL)
    assert found is not None
    return found[1]


if __name__ == "__main__":
    main()
