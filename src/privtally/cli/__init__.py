"""The command line: each command parses, calls one function and prints."""

from privtally.cli.app import main

__all__ = ["main"]
