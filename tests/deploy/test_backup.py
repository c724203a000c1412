"""Which copies the nightly backup keeps: the unit's own commands are run, on a store of this machine."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from tests.deploy.files import DEPLOY, ROOT, unit_lines


class Nights:
    """A store and the folder of its copies; each night has a number for its date."""

    def __init__(self, place: Path) -> None:
        self.place, self.night = place, 0
        self.copies, self.programs = place / "copies", place / "programs"
        self.copies.mkdir()
        self.programs.mkdir()
        for name, text in (
            ("privtally", f'exec {shlex.quote(sys.executable)} -m privtally "$@"'),
            ("date", 'echo "night-$NIGHT"'),
        ):
            (self.programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.programs / name).chmod(0o700)
        (self.programs / "backup.sh").write_text(self._placed((DEPLOY / "backup.sh").read_text()))

    def _placed(self, text: str) -> str:
        """A text with the places of this machine."""
        for old, new in (
            ("/opt/privtally/bin", self.programs),
            ("/opt/privtally", self.programs),
            ("/var/lib/privtally-backups", self.copies),
        ):
            text = text.replace(old, str(new))
        return text

    def run(self, *words: str) -> bytes:
        environment = os.environ | {
            "NIGHT": str(self.night),
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "PYTHONPATH": ":".join(sys.path),
            "PRIVTALLY_STORE": "sqlite:///privtally.db",
        }
        return subprocess.run(words, check=True, env=environment, cwd=self.place, capture_output=True).stdout

    def create(self, *words: str) -> Any:
        """A new campaign."""
        schema = str(ROOT / "examples" / "survey.toml")
        how = ("--title", "A week", "--epsilon", "2", "--mechanism", "corr-rr", "--people", "500", "--json")
        return json.loads(self.run("privtally", "campaign", "create", schema, *how, *words))

    def __call__(self) -> list[str]:
        """The copies that are there after the next night."""
        self.night += 1
        for name, value in unit_lines(DEPLOY / "privtally-backup.service"):
            if name == "ExecStart":
                self.run(*shlex.split(self._placed(value).replace("$$", "$").replace("%%", "%")))
        return sorted(path.name for path in self.copies.iterdir())


def test_one_copy_is_kept_until_campaigns_with_invitations_are_deleted(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.create()
    assert nights() == ["night-1.db"]
    assert nights() == ["night-1.db", "night-2.db"]

    invited = nights.create("--tokens")["id"]
    assert nights() == ["night-3.only.db"]
    assert nights() == ["night-4.only.db"]

    nights.run("privtally", "campaign", "close", invited)
    assert nights() == ["night-5.only.db"]
    assert nights() == ["night-6.only.db"]  # a round of that campaign may have been open since, and closed

    nights.run("privtally", "campaign", "delete", invited, "--title", "A week")
    assert nights() == ["night-7.db"]
    assert nights() == ["night-7.db", "night-8.db"]
    old = (nights.copies / "night-8.db").stat().st_mtime - 14 * 86_400
    os.utime(nights.copies / "night-7.db", (old, old))
    assert nights() == ["night-8.db", "night-9.db"]


def test_a_backup_that_fails_deletes_no_copy(tmp_path: Path) -> None:
    nights = Nights(tmp_path)  # of a store that is not there
    (nights.copies / "night-0.only.db").touch()
    with pytest.raises(subprocess.CalledProcessError):
        nights()
    assert [path.name for path in nights.copies.iterdir()] == ["night-0.only.db"]
