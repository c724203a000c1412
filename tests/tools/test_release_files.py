"""Files that a release needs agree with each other."""

import re
import tomllib
from pathlib import Path

import yaml

import privtally

ROOT = Path(__file__).parents[2]


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
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    tried = re.search(r"^VERSIONS := (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert tried
    assert classified == tried[1].split()
    assert project["requires-python"] == f">={classified[0]}"


def test_documents_of_this_version_are_frozen() -> None:
    assert (ROOT / "tests/golden" / ".".join(privtally.__version__.split(".")[:2])).is_dir()
