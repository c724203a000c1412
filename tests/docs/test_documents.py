"""Documented commands run, documented code runs, and what exists is documented."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import privtally
from tests.cli.conftest import Program
from tests.docs.test_first_steps import FIRST_STEPS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = [page for page in PAGES if page not in FIRST_STEPS]
"""Pages whose blocks of one language run without those of another."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


def commands(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page, each with the lines of its output that the page shows; … stands for other lines."""
    found: list[tuple[str, list[str]]] = []
    for line in "".join(blocks(page, "console")).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line != "…":
            found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", [page for page in RUN if blocks(page, "console")], ids=lambda page: page.name)
def test_the_commands_of_a_page_run_in_order_and_print_what_it_shows(
    page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    run = Program(capsys, monkeypatch)
    for command, shown in commands(page):
        program, *words = shlex.split(command)
        assert program == "privtally"
        printed = run(*words).out.splitlines()
        assert [line for line in printed if line in shown] == shown, f"{command}\n{printed}"


@pytest.mark.parametrize("page", [page for page in RUN if blocks(page, "python")], ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "python"):
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("*.md"), ROOT / "deploy/README.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_public_name_can_be_imported() -> None:
    for name in privtally.__all__:
        assert getattr(privtally, name) is not None
    assert set(dir(privtally)) == set(privtally.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = privtally.nothing
    stated = re.findall(r"\b(\w+) as \1\b", Path(privtally.__file__).read_text())
    assert sorted([*stated, "__version__"]) == sorted(privtally.__all__)


def test_the_example_data_is_what_its_script_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "examples/make_survey.py"), str(tmp_path)], check=True)
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (ROOT / "examples" / file.name).read_bytes()


def test_the_version_is_in_the_changelog() -> None:
    assert f"## {privtally.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_tests_that_a_page_names_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text()):
            assert (ROOT / name[0]).exists(), f"{page.name} names {name[0]}"
            assert not name[1] or f"def {name[1]}(" in (ROOT / name[0]).read_text(), f"{page.name} names {name[1]}"


def test_the_program_starts_without_what_only_commands_need() -> None:
    check = "import sys, privtally.cli; sys.exit(bool({'numpy', 'matplotlib', 'cryptography'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
