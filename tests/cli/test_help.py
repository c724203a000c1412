"""What the program says of itself, and what a shell completes."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from privtally.cli.app import EXAMPLES, PANELS, PATTERNS, app
from tests.cli.conftest import Program

ROOT = Path(__file__).parents[2]
PROGRAM: Any = typer.main.get_command(app)
COMMANDS = {
    f"{group} {name}".strip(): command
    for group, commands in {
        "": PROGRAM.commands,
        **{g: PROGRAM.commands[g].commands for g in ("campaign", "db")},
    }.items()
    for name, command in commands.items()
    if not hasattr(command, "commands")
}


def test_the_program_alone_says_how_to_start(program: Program) -> None:
    said = program().out
    assert [line.split()[1] for line in said.splitlines() if line.startswith("  privtally")] == [
        "demo",
        "init",
        "run",
        "serve",
    ]
    assert max(map(len, said.splitlines())) <= 80


def test_commands_are_listed_by_what_they_are_for(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = program("--help").out
    places = [said.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)
    assert "bool" not in said


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_one_sentence_and_an_example(command: str) -> None:
    own = COMMANDS[command]
    first, *others = own.help.split("\n\n")
    assert re.fullmatch(r"[A-Z][^.]*\.", first)
    assert all(len(sentence.split()) <= 35 for other in others for sentence in other.split(". "))
    assert [line for line in own.epilog.split("\n\n") if line.startswith(f"privtally {command}")]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_shows_a_type_of_the_programming_language(command: str) -> None:
    own = COMMANDS[command]
    context = own.context_class(own, info_name=command)
    shown = [parameter.get_help_record(context)[0] for parameter in own.get_params(context)]
    assert [name for name in shown if re.search(r"[<{]", name)] == []
    assert not re.search(r"[{}]", own.get_usage(context))


def test_every_example_is_of_a_command() -> None:
    assert {*EXAMPLES, *PATTERNS} == set(COMMANDS)
    assert not set(EXAMPLES) & set(PATTERNS)


def completed(monkeypatch: pytest.MonkeyPatch, program: Program, words: str) -> list[str]:
    """What bash offers for the last word."""
    monkeypatch.setenv("_PRIVTALLY_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    return program().out.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("privtally ini", ["init"]),
        ("privtally campaign cr", ["create"]),
        ("privtally run --ep", ["--epsilon"]),
        ("privtally run --mechanism co", ["corr-rr", "cond-rr"]),
        ("privtally estimate --method ", ["likelihood", "unbiased", "paper"]),
        ("privtally tally --engine s", ["spark"]),
        ("privtally compare --mechanisms spl,s", ["spl,smp"]),
        ("privtally compare --methods ", ["likelihood", "unbiased", "paper"]),
        # Nothing is offered where a file belongs: the shell then offers files.
        ("privtally run ", []),
        ("privtally run --schema ", []),
        ("privtally learn --phase ", []),
        ("privtally learn --phase plan.json ", []),
        ("privtally learn --phase plan.json counts.json --ru", ["--rule"]),
    ],
)
def test_a_shell_completes(program: Program, monkeypatch: pytest.MonkeyPatch, words: str, offered: list[str]) -> None:
    assert completed(monkeypatch, program, words) == offered


def test_completion_loads_nothing_large() -> None:
    check = (
        "import sys\nfrom privtally.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.exit(len({'numpy', 'duckdb', 'msgspec', 'matplotlib', 'cryptography', 'asyncpg'} & set(sys.modules)))"
    )
    variables = {"_PRIVTALLY_COMPLETE": "complete_bash", "COMP_WORDS": "privtally run --mechanism c", "COMP_CWORD": "3"}
    command = [sys.executable, "-c", check]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "corr-rr" in done.stdout


@pytest.mark.parametrize(("shell", "file"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", ".config")])
def test_completion_is_installed(
    program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shell: str, file: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, shell))
    program("--install-completion")
    assert (tmp_path / file).exists()
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("_PRIVTALLY_COMPLETE" in text for text in texts)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_itself_completes(monkeypatch: pytest.MonkeyPatch, program: Program, tmp_path: Path) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "bash"))
    (tmp_path / "complete.sh").write_text(program("--show-completion").out)
    (tmp_path / "privtally").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m privtally "$@"\n')
    (tmp_path / "privtally").chmod(0o755)
    script = (
        ". ./complete.sh; COMP_WORDS=(privtally re); COMP_CWORD=1; _privtally_completion ./privtally; "
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refresh", "reproduce"]


def test_every_example_runs_after_those_before_it(program: Program, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for line in (line for lines in EXAMPLES.values() for line in lines):
        # In this process, which is faster and does the same.
        program(*shlex.split(line)[1:], *(["--workers", "1"] if line.startswith("privtally compare") else []))
