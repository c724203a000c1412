"""An environment of its own for every peer, with pinned versions; nothing of a peer enters privtally's."""

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "peers"


@dataclass(frozen=True)
class Peer:
    """A package from the index, its name for people, and the module that drives it."""

    name: str
    package: str
    module: str

    @property
    def pins(self) -> Path:
        """Everything that the peer's environment holds."""
        return Path(__file__).parent / "pins" / f"{self.package}.txt"

    @property
    def version(self) -> str:
        """The package's own version."""
        pinned = dict(line.split("==") for line in self.pins.read_text().splitlines())
        return pinned[self.package]


MULTI_FREQ = Peer("multi-freq-ldpy", "multi-freq-ldpy", "drive_multi_freq_ldpy")
PURE = Peer("pure-ldp", "pure-ldp", "drive_pure_ldp")
OPENDP = Peer("OpenDP", "opendp", "drive_opendp")
DIFFPRIVLIB = Peer("diffprivlib", "diffprivlib", "drive_diffprivlib")
PEERS = (MULTI_FREQ, PURE, OPENDP, DIFFPRIVLIB)


class MissingError(Exception):
    """A peer could not be installed or started; the message says why."""


def python_of(peer: Peer, place: Path = PLACE) -> Path:
    """The interpreter of the peer's environment, which is made if it does not have the pinned versions."""
    home = place / peer.package
    python, mark, pinned = home / "bin" / "python", home / "pinned.txt", peer.pins.read_text()
    if mark.exists() and mark.read_text() == pinned:
        return python
    print(f"installing {peer.package} {peer.version} in {home}", file=sys.stderr)
    venv.create(home, clear=True, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(peer.pins)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise MissingError(last_line("\n".join(errors) or done.stderr))
    mark.write_text(pinned)
    return python


def last_line(text: str) -> str:
    """What a program said last: with pip and Python, why it failed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
