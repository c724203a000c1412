"""`python -m privtally`."""

from privtally.cli.app import main

main()
