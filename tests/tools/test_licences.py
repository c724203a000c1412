"""Every package that pyproject.toml names, and every file of others, is listed under a licence that goes with ours."""

import re

import pytest
from tools.licences import VENDORED, allows, stated

from tools import ROOT

PAGE = (ROOT / "THIRD_PARTY.md").read_text()
ROWS = PAGE.partition("## Packages")[2].replace("| package | licence |", "")
LISTED = dict(re.findall(r"^\| ([a-z][\w.-]*) \| (.+) \|$", ROWS, flags=re.MULTILINE))


def test_every_package_is_listed() -> None:
    assert stated(run_time=True) | stated(run_time=False) <= set(LISTED)


@pytest.mark.parametrize("package", LISTED)
def test_a_listed_licence_is_allowed(package: str) -> None:
    assert allows(LISTED[package]), LISTED[package]


@pytest.mark.parametrize("licence", ["unknown", "", "GPL-3.0-only", "MIT AND GPL-3.0-only", "AGPL-3.0 OR SSPL-1.0"])
def test_another_licence_is_not(licence: str) -> None:
    assert not allows(licence)


def test_every_file_of_others_is_listed_with_its_licence() -> None:
    texts = {str(file.relative_to(ROOT)) for file in (ROOT / "src").rglob("*.LICENSE")}
    assert texts == {text for _, _, text in VENDORED.values()}
    for file, (name, licence, _) in VENDORED.items():
        assert f'"{name.split()[-1]}"' in (ROOT / file).read_text()  # its version
        assert f"`{file}`" in PAGE
        assert allows(licence)
