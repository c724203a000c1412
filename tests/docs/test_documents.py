"""Documented commands run, documented code runs, and what exists is documented."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import privtally

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=lambda page: page.name)
def test_the_commands_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    commands = [line[2:] for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")]
    assert commands
    for command in commands:
        program, *rest = shlex.split(command)
        assert program == "privtally"
        done = subprocess.run(
            [sys.executable, "-m", "privtally", *rest],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
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
