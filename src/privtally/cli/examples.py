"""Examples of every command, in an order in which they run: for the help, the reference and the tests."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "demo": ("privtally demo --people 5000",),
    "init": ("privtally init --question 'smokes: no, yes' --question 'age: 0..120 by 10' --optional smokes",),
    "advise": ("privtally advise examples/survey.toml --people 4000 --epsilon 1 --within 5",),
    "run": (
        "privtally run examples/towns.csv --top 3 --plot towns.png",
        "privtally run examples/survey-2.csv --schema examples/survey.toml --epsilon 3 -o job",
    ),
    "design": ("privtally design examples/survey.toml --epsilon 3 --mechanism corr-rr -o plan-1.json",),
    "privatise": ("privtally privatise examples/survey-1.csv --plan plan-1.json -o reports-1.ndjson",),
    "tally": ("privtally tally reports-1.ndjson --plan plan-1.json -o counts-1.json",),
    "merge": (
        "privtally privatise examples/survey-3.csv --plan plan-1.json -o tuesday.ndjson",
        "privtally tally tuesday.ndjson --plan plan-1.json -o tuesday.json",
        "privtally merge counts-1.json tuesday.json -o both.json",
    ),
    "learn": ("privtally learn --phase plan-1.json counts-1.json --people 3600 -o plan-2.json",),
    "refresh": ("privtally refresh plan-1.json plan-2.json -o plan-3.json",),
    "estimate": (
        "privtally estimate --phase plan-1.json counts-1.json --plot estimate.png",
        "privtally estimate --phase plan-1.json counts-1.json --pair 'sleeps badly,feels lonely'",
    ),
    "show": ("privtally show plan-2.json",),
    "audit": ("privtally audit plan-2.json --certificate certificate.json",),
    "verify": ("privtally verify plan-2.json certificate.json",),
    "compare": ("privtally compare examples/survey-2.csv --schema examples/survey.toml --epsilon 1,3 --runs 5",),
    "reproduce": ("privtally reproduce fig_2 -o reproduction",),
    "campaign create": (
        "privtally campaign create examples/survey.toml --title Health --epsilon 2 --mechanism corr-rr",
    ),
    "campaign list": ("privtally campaign list",),
    "db check": ("privtally db check",),
    "db backup": ("privtally db backup -o copy.db",),
}
"""The commands that run where the repository's directory `examples` is."""

PATTERNS: Mapping[str, tuple[str, ...]] = {
    "serve": ("privtally serve --store sqlite:///survey.db",),
    "submit": ("privtally submit --url 'https://HOST/s/ID#TOKEN' --record answers.json",),
    "campaign show": ("privtally campaign show ID --public-url https://HOST",),
    "campaign advance": ("privtally campaign advance ID",),
    "campaign refresh": ("privtally campaign refresh ID",),
    "campaign close": ("privtally campaign close ID",),
    "campaign tokens": ("privtally campaign tokens ID 500 -o tokens.txt",),
    "campaign export": ("privtally campaign export ID -o shares.csv",),
    "campaign delete": ("privtally campaign delete ID --title Health",),
    "db restore": ("privtally db restore copy.db --store sqlite:///new.db",),
    "db new-token": ("privtally db new-token",),
    "db migrate": ("privtally db migrate",),
}
"""The commands that need a campaign, a service or a store of one's own."""


def epilog(command: str) -> str:
    """The examples of a command, as its help shows them."""
    lines = EXAMPLES.get(command) or PATTERNS.get(command, ())
    return "\n\n".join([f"Example{'s' if len(lines) > 1 else ''}:", *lines]) if lines else ""
