"""The files of deploy/, as a reader of them sees them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))


def unit_lines(path: Path) -> list[tuple[str, str]]:
    """Settings of a unit in their order, names and values."""
    lines = [line for line in path.read_text().splitlines() if line and line[0] not in "#["]
    return [(name, value) for name, _, value in (line.partition("=") for line in lines)]


def setting(path: Path, name: str) -> str:
    """The only value of a unit's setting."""
    (value,) = (value for own, value in unit_lines(path) if own == name)
    return value


def environment() -> dict[str, str]:
    """The variables that the units' EnvironmentFile sets."""
    lines = [line for line in (DEPLOY / "privtally.env").read_text().splitlines() if line and line[0] != "#"]
    return dict(re.fullmatch(r"(\w+)=(.*)", line).groups() for line in lines)  # type: ignore[union-attr,misc]  # every line matches, or the test fails
