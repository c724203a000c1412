"""Every package of the lock has hashes, and what the Makefile installs is held to them."""

import os
import re
import subprocess

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version
from tools.licences import stated
from tools.lock import REST, SERVICE, hashes_of

from tools import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}")


def recipe(target: str, *words: str) -> str:
    """What make would run for a target that is not there, whatever a make around the tests was told."""
    outer = {"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES"}
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    made = ["make", "--dry-run", "--always-make", target, *words]
    return subprocess.run(made, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout


def test_every_package_is_pinned_with_hashes() -> None:
    assert LOCK.startswith(SERVICE)
    blocks = [block for block in re.split(r"\n(?! )", LOCK.strip()) if block not in (SERVICE, REST)]
    for block in blocks:
        pin, *hashes = block.split(" \\\n")
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+", pin), pin
        assert hashes, pin
        assert all(map(HASH.fullmatch, hashes)), pin
    assert stated(run_time=True) | stated(run_time=False) <= {block.partition("==")[0] for block in blocks}


@pytest.mark.parametrize("outer", ["", " -- HASHES=no"])
def test_the_makefile_installs_by_hashes(outer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKEFLAGS", outer)
    for target, locked in ((".venv/.serving", LOCK.partition(REST)[0]), (".venv/.ready", LOCK)):
        run = recipe(target)
        installs = [line for line in run.splitlines() if "pip install" in line]
        part, _, first = installs[0].partition(" | ")
        assert part.startswith(("sed ", "cat ")), part  # nothing else is run here
        assert subprocess.run(part, shell=True, cwd=ROOT, check=True, capture_output=True, text=True).stdout == locked
        assert "--require-hashes" in first
        assert "--no-deps --no-build-isolation" in installs[1]
        assert len(installs) == 2
    assert "hatchling==" in LOCK.partition(REST)[0]  # which builds privtally without a network
    assert "not compared" in recipe(".venv/.ready", "HASHES=no")


def test_constraints_are_the_versions_alone() -> None:
    (command,) = [line for line in recipe("build/constraints.txt").splitlines() if line.startswith("sed")]
    command = command.rpartition(" > ")[0]
    pins = subprocess.run(command, shell=True, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert pins == re.findall(r"^[a-z0-9-]+==[\w.]+", LOCK, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("file", "taken"),
    [
        ("Some.Package-1.2.tar.gz", True),
        ("some_package-1.2-py3-none-any.whl", True),
        ("some_package-1.2-py2.py3-none-any.whl", True),
        ("some_package-1.2-cp39-abi3-macosx_11_0_arm64.whl", True),
        ("some_package-1.2-cp311-cp311-win_amd64.whl", True),
        ("some_package-1.2-cp314-cp314t-musllinux_1_2_x86_64.whl", True),
        ("some_package-1.2-cp310-cp310-win_amd64.whl", False),
        ("some_package-1.2-pp311-pypy311_pp73-win_amd64.whl", False),
        ("some_package-1.2.1-py3-none-any.whl", False),
        ("some_package-1.2-py3.11.egg", False),
    ],
)
def test_files_that_a_supported_python_may_take_have_hashes(file: str, taken: bool) -> None:
    digest = "0123456789abcdef" * 4
    page = f'<a href="https://index.example/{file}#sha256={digest}" data-requires-python="&gt;=3.9">{file}</a><br/>'
    found = hashes_of(page, canonicalize_name("some.package"), Version("1.2"))
    assert found == ([digest] if taken else [])
