"""Programs for the people who make privtally: its site, its release, its prose. No part of the package."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""Where the repository is."""
