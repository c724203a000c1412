"""Files that a release needs agree with each other."""

import re
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
