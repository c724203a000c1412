"""The README and the tutorials as a reader follows them: every block of a page, in order, in one directory.

Only the lines that install privtally are left out; `make dist` does what they say.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from tests.cli.conftest import Program
from tests.cli.test_init import Terminal

ROOT = Path(__file__).parents[2]
FIRST_STEPS = [ROOT / "README.md", *sorted((ROOT / "docs/tutorial").glob("*.md"))]
INSTALLING = ["python3 -m venv .venv", ". .venv/bin/activate", "pip install '.[serve,plot]'"]
USUAL_PORT = "8765"
TYPING = re.compile(r"^  (?:Answers to '[^']+':|May .*?\[y/N\])(.*)$", re.MULTILINE)
"""What a page shows to be typed after a question of `init`."""
TYPED = ["", "never, rarely, weekly, daily", "", *["=", ""] * 3]
"""What the README's reader types about examples/survey-2.csv: a column that is no question, then four alike."""


@dataclass
class Reader:
    """Somebody who follows a page."""

    run: Program
    stack: ExitStack
    monkeypatch: pytest.MonkeyPatch
    typed: list[str]
    names: dict[str, Any] = field(default_factory=dict)
    port: str = USUAL_PORT
    link: str = ""
    said: str = ""
    """What the last command printed."""

    def follow(self, language: str, text: str) -> None:
        if language == "python":
            exec(compile(text, "a page", "exec"), self.names)
        elif language == "json":
            Path("me.json").write_text(text)
        elif language == "text" and not TYPING.search(text):
            assert without_chance(text) == without_chance(self.said)[: len(without_chance(text))]
        elif language == "sh" and text.splitlines() != INSTALLING:
            for line in text.replace("\\\n", "").splitlines():
                self.command(line.replace('"$LINK"', self.reached()))

    def reached(self) -> str:
        """The survey's link, with the port at which the service really listens."""
        return self.link.replace(USUAL_PORT, self.port)

    def command(self, line: str) -> None:
        program, *words = shlex.split(line)
        if program == "mkdir":
            Path(words[0]).expanduser().mkdir()
            return
        if program == "cd":
            self.monkeypatch.chdir(Path(words[0]).expanduser())
            return
        assert program == "privtally"
        if words == ["serve"]:
            self.stack.close()  # Ctrl-C
            self.port = self.stack.enter_context(serving())
            return
        self.monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{typed}\n" for typed in self.typed)))
        self.said = self.run(*words).out
        if found := re.search(r"link +(\S+)", self.said):
            self.link = found[1]


@contextmanager
def serving() -> Iterator[str]:
    """The port of a `privtally serve` that listens at one that is free, as the usual one may be taken."""
    words = [sys.executable, "-m", "privtally", "serve"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=os.environ | {"PRIVTALLY_PORT": "0"}) as process:
        assert process.stdout is not None
        try:
            said = process.stdout.readline().decode()
            listens = re.search(r"http://127\.0\.0\.1:([0-9]+)", said)
            assert listens, said
            yield listens[1]
        finally:
            process.terminate()


def steps(page: Path) -> list[tuple[str, str]]:
    """The blocks of a page with their languages."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def typed_on(page: Path) -> list[str]:
    """What a page shows to be typed after a question."""
    shown = "".join(text for language, text in steps(page) if language == "text")
    return [line.strip() for line in TYPING.findall(shown)]


def without_chance(printed: str) -> list[str]:
    """The lines that a command printed, without what chance decides: the numbers, bars, and how wide they are."""
    plain = re.sub(r"[█▉▊▋▌▍▎▏]", " ", re.sub(r"[0-9][0-9.,]*", "0", printed))
    return re.sub(r"([ ━─])\1+", r"\1", plain).splitlines()


@pytest.fixture
def reader(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Reader]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PRIVTALLY_LEDGER", str(tmp_path / "ledger-of-mine.json"))
    with ExitStack() as stack:
        yield Reader(Program(capsys, monkeypatch), stack, monkeypatch, TYPED)


def test_the_readme_leads_to_an_estimate_and_to_a_survey(reader: Reader, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/survey-2.csv", "answers.csv")
    for language, text in steps(ROOT / "README.md"):
        reader.follow(language, text)
    assert (tmp_path / "answers.png").stat().st_size > 0
    with build_opener(ProxyHandler({})).open(reader.reached()) as page:
        assert "How was your week?" in page.read().decode()


@pytest.mark.parametrize("page", FIRST_STEPS[1:], ids=lambda page: page.name)
def test_a_tutorial_runs_from_its_beginning_to_its_end(reader: Reader, page: Path) -> None:
    reader.typed = typed_on(page)
    for language, text in steps(page):
        reader.follow(language, text)
    if reader.link:  # the last command lists the campaigns
        assert re.search(r" 1 reports? +How was your week\?", reader.said), reader.said
