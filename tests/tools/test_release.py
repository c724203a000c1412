"""A release: its files agree, its packages are whole, their licences allowed, and a bare install says what it lacks."""

import re
import tomllib

import pytest
import yaml
from tools.bare import NEEDING, sentence_fault
from tools.distribution import BESIDE, faults_of_sdist, faults_of_wheel
from tools.licences import FOR_MAKERS, VENDORED, allows, stated

import privtally
from tools import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_pre_commit_does_what_make_check_does() -> None:
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert recipe
    checked = recipe[1].replace("$(BIN)", ".venv/bin").replace("\t", "").splitlines()
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == checked
    assert {hook["language"] for hook in local["hooks"]} == {"system"}


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == privtally.__version__
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert [author["family-names"] for author in citation["references"][0]["authors"]] == ["Seeam", "Zheng", "Hu"]


def test_the_supported_versions_of_python_are_those_that_are_tried() -> None:
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    tried = re.search(r"^VERSIONS := (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert tried
    assert classified == tried[1].split()
    assert PROJECT["requires-python"] == f">={classified[0]}"


def test_documents_of_this_version_are_frozen() -> None:
    assert (ROOT / "tests/golden" / ".".join(privtally.__version__.split(".")[:2])).is_dir()


SOURCE = [file for file in (ROOT / "src/privtally").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
WHEEL = [file.relative_to(ROOT / "src").as_posix() for file in SOURCE]
SDIST = [f"privtally-1/{file.relative_to(ROOT).as_posix()}" for file in SOURCE] + [f"privtally-1/{n}" for n in BESIDE]
NEEDED = (
    "privtally/py.typed",
    "privtally/client/privtally.js",
    "privtally/service/pages/static/style.css",
    "privtally/service/pages/templates/base.html",
    "privtally/store/migrations/sqlite/0001.sql",
)


def test_complete_packages_pass() -> None:
    assert faults_of_wheel([*WHEEL, "privtally-1.dist-info/METADATA"]) == []
    assert faults_of_sdist(SDIST) == []


def test_a_missing_file_is_named() -> None:
    for name in NEEDED:
        assert faults_of_wheel([other for other in WHEEL if other != name]) == [f"lacks {name}"]
        assert faults_of_sdist([other for other in SDIST if not other.endswith(name)]) == [f"lacks src/{name}"]


def test_what_does_not_belong_is_named() -> None:
    assert faults_of_wheel([*WHEEL, "tests/golden/plan.json"]) == ["has tests/golden/plan.json"]
    assert faults_of_sdist([*SDIST, "privtally-1/tests/golden/1.0/smp/export.parquet"]) == []
    assert faults_of_sdist([*SDIST, "privtally-1/reports.parquet"]) == ["has reports.parquet"]
    assert faults_of_sdist([*SDIST, "privtally-1/build/demo/privtally.db"]) == ["has build/demo/privtally.db"]


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


SENTENCE = "privtally: pictures need matplotlib; install it with: pip install 'privtally[plot]'\n"


@pytest.mark.parametrize(
    ("code", "said", "sound"),
    [
        (2, SENTENCE, True),
        (0, SENTENCE, False),
        (1, SENTENCE, False),
        (2, "No pictures.\n" + SENTENCE, True),
        (2, SENTENCE + "No pictures.\n", False),
        (2, "Traceback (most recent call last):\n" + SENTENCE, False),
        (2, SENTENCE.replace("plot", "serve"), False),
    ],
)
def test_a_sentence_names_the_extra(code: int, said: str, sound: bool) -> None:
    assert (sentence_fault("plot", code, said) is None) == sound


def test_every_extra_for_users_is_tried() -> None:
    assert set(NEEDING) == set(PROJECT["optional-dependencies"]) - set(FOR_MAKERS)
