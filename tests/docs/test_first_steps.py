"""The README and the tutorials as a reader follows them: every block of a page, in order, in one directory.

Only the lines that install privtally are left out; `make dist` does what they say.
"""

import os
import re
import shlex
import shutil
import socket
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
TYPED = ["", "never, rarely, weekly, daily", "", *["=", ""] * 3]
"""What the README's reader types about examples/survey-2.csv: a column that is no question, then four alike."""


@dataclass
class Reader:
    """Somebody who follows a page."""

    run: Program
    port: str
    stack: ExitStack
    monkeypatch: pytest.MonkeyPatch
    typed: list[str]
    names: dict[str, Any] = field(default_factory=dict)
    link: str = ""
    said: str = ""
    """What the last command printed."""

    def follow(self, language: str, text: str) -> None:
        if language == "python":
            exec(compile(text, "a page", "exec"), self.names)
        elif language == "json":
            Path("me.json").write_text(text)
        elif language == "sh" and text.splitlines() != INSTALLING:
            for line in text.replace("\\\n", "").splitlines():
                self.command(line.replace(USUAL_PORT, self.port).replace('"$LINK"', self.link))

    def command(self, line: str) -> None:
        program, *words = shlex.split(line)
        assert program == "privtally"
        if words == ["serve"]:
            self.stack.close()  # Ctrl-C
            self.stack.enter_context(serving(self.port))
            return
        self.monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{typed}\n" for typed in self.typed)))
        self.said = self.run(*words).out
        if found := re.search(r"link +(\S+)", self.said):
            self.link = found[1]


@contextmanager
def serving(port: str) -> Iterator[None]:
    """`privtally serve` at another port than the usual one, which may be taken."""
    words = [sys.executable, "-m", "privtally", "serve"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=os.environ | {"PRIVTALLY_PORT": port}) as process:
        assert process.stdout is not None
        try:
            assert f"http://127.0.0.1:{port}".encode() in process.stdout.readline()
            yield
        finally:
            process.terminate()


def free_port() -> str:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return str(place.getsockname()[1])


def steps(page: Path) -> list[tuple[str, str]]:
    """The blocks of a page with their languages."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def typed_on(page: Path) -> list[str]:
    """What a page shows to be typed after a question."""
    shown = "".join(text for language, text in steps(page) if language == "text")
    return [line.strip() for line in re.findall(r"^  (?:Answers to '[^']+':|May .*?\[y/N\])(.*)$", shown, re.MULTILINE)]


@pytest.fixture
def reader(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Reader]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVTALLY_LEDGER", str(tmp_path / "ledger-of-mine.json"))
    with ExitStack() as stack:
        yield Reader(Program(capsys, monkeypatch), free_port(), stack, monkeypatch, TYPED)


def test_the_readme_leads_to_an_estimate_and_to_a_survey(reader: Reader) -> None:
    shutil.copy(ROOT / "examples/survey-2.csv", "answers.csv")
    for language, text in steps(ROOT / "README.md"):
        reader.follow(language, text)
    assert Path("answers.png").stat().st_size > 0
    with build_opener(ProxyHandler({})).open(reader.link) as page:
        assert "How was your week?" in page.read().decode()


@pytest.mark.parametrize("page", FIRST_STEPS[1:], ids=lambda page: page.name)
def test_a_tutorial_runs_from_its_beginning_to_its_end(reader: Reader, page: Path) -> None:
    reader.typed = typed_on(page)
    for language, text in steps(page):
        reader.follow(language, text)
    if reader.link:  # the last command lists the campaigns
        assert re.search(r" 1 reports? +How was your week\?", reader.said), reader.said
