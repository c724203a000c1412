"""The site builds without a warning, and every page of it can be found."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
needs_sphinx = pytest.mark.skipif(importlib.util.find_spec("myst_parser") is None, reason="needs the extra docs")


def listed(page: Path) -> list[Path]:
    """The pages in the lists of a page, as it names them."""
    found = []
    for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL):
        for line in block.splitlines():
            if line and not line.startswith(":"):
                found += sorted(page.parent.glob(f"{line.split('<')[-1].rstrip('>')}.md")) or [page.parent / line]
    return found


def test_every_page_is_in_one_list() -> None:
    pages = sorted(DOCS.rglob("*.md"))
    entries = sorted(entry for page in pages for entry in listed(page))
    assert entries == [page for page in pages if page != DOCS / "index.md"]


def build(source: Path, out: Path) -> "subprocess.CompletedProcess[str]":
    """Everything but writing pages: reading, and following every link."""
    strictly = ["-b", "dummy", "-c", str(DOCS), "--quiet", "--fail-on-warning", "--keep-going", "--nitpicky"]
    command = [sys.executable, "-m", "sphinx", *strictly, str(source), str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_sphinx
@pytest.mark.full  # as `make docs` does
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    done = build(DOCS, tmp_path)
    assert done.returncode == 0, done.stderr


@needs_sphinx
def test_links_that_lead_nowhere_fail_the_build(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# Page\n\n[a](no-page.md) [b](#no-place)\n\n```{toctree}\nno-entry\n```\n")
    (tmp_path / "lost.md").write_text("# In no list\n")
    done = build(tmp_path, tmp_path / "out")
    assert done.returncode == 1
    for fault in ("no-page", "no-place", "no-entry", "lost"):
        assert fault in done.stderr


def test_generated_pages_hold_what_they_describe() -> None:
    pytest.importorskip("sphinx", reason="needs the extra docs")
    from tools.site import GENERATED

    commands, http, names = (GENERATED[f"reference/{page}"]() for page in ("commands", "http-api", "python"))
    assert "### privtally campaign create\n" in commands
    assert "`-e, --epsilon NUMBER`" in commands
    assert "$ privtally run examples/towns.csv" in commands
    assert "## GET /v1/campaigns/{campaign_id}/plan" in http
    assert re.search(r"\| 404 \|", http)
    assert ".. autofunction:: privtally.design\n" in names
    assert ".. autoclass:: privtally.Plan\n" in names


def test_links_of_a_shown_file_lead_to_pages() -> None:
    pytest.importorskip("sphinx", reason="needs the extra docs")
    from tools.site.links import with_links_of_the_site

    def shown(text: str) -> str:
        return with_links_of_the_site(text, ROOT / "README.md", "project/readme")

    assert shown("[a](docs/guide/rounds.md#x)") == "[a](../guide/rounds.md#x)"
    assert shown("![a](docs/images/demo.png)") == "![a](../images/demo.png)"
    assert shown("[a](deploy/README.md)") == "[a](deploy.md)"
    assert shown("[a](docs/decisions)") == "[a](../decisions/index.md)"
    assert shown("[a](examples/survey.toml)") == "[a](../../examples/survey.toml)"
    assert shown("[a](tests/law) [b](#c) [d](https://e.org)") == "a [b](#c) [d](https://e.org)"
    assert shown("```\n[a](tests/law)\n```") == "```\n[a](tests/law)\n```"


def test_indented_blocks_of_a_docstring_are_code() -> None:
    pytest.importorskip("sphinx", reason="needs the extra docs")
    from tools.site.docstrings import as_restructured_text

    plain = ["Text:", "", "    code", "", "    more", "Text", "    goes on"]
    assert as_restructured_text(plain) == ["Text:", "", "::", "", "    code", "", "    more", "Text", "    goes on"]
