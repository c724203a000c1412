"""`python -m privtally`."""

from privtally.cli import main

main()
