"""Arguments and options that several commands share."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from privtally.errors import CampaignError, DocumentError
from privtally.names import LEARNED_WITH, RULES_WITH_BOUND, MechanismName, Method, Rule

DataArgument = Annotated[
    Path,
    typer.Argument(metavar="DATA.csv", help="Answers: a header of attribute names, then labels; - for standard input."),
]
EpsilonOption = Annotated[float, typer.Option("--epsilon", "-e", help="The privacy budget of each participant.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]
MechanismOption = Annotated[MechanismName, typer.Option("--mechanism", "-m", help="How answers become private.")]
MethodOption = Annotated[Method, typer.Option("--method", help="How counts become frequencies.")]
PlanOption = Annotated[Path, typer.Option("--plan", "-p", help="The plan that is answered.")]
RuleOption = Annotated[Rule, typer.Option("--rule", help="How corr-rr chooses its copy probabilities.")]
GuessOption = Annotated[
    float,
    typer.Option(
        "--max-pivot-guess",
        help="How often an observer who knows nothing of the answers may name the one that was randomised "
        "(rule robust; 1: it may be known).",
    ),
]
PhaseOption = Annotated[
    list[Path], typer.Option("--phase", metavar="PLAN COUNTS", help="A phase's plan and counts; once for each phase.")
]
RunsOption = Annotated[int, typer.Option("--runs", help="How many times every campaign is simulated.")]
SeedOption = Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")]
WorkersOption = Annotated[int, typer.Option("--workers", help="How many processes share the work; 0 for one a core.")]
ShareOption = Annotated[float, typer.Option("--phase1-share", help="The share of people who are asked in Phase I.")]

MOST_RUNS, MOST_WORKERS, MOST_USERS = 1_000_000, 1_024, 10**12


def check_range(option: str, value: int, least: int, most: int) -> None:
    """Refuse a number that is out of an option's range."""
    if not least <= value <= most:
        raise CampaignError(f"{option} must be at least {least} and at most {most:,}, got {value}")


def refuse_without_effect(context: typer.Context, options: Iterable[str], reason: str) -> None:
    """Refuse options that were given although they change nothing."""
    for option in options:
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            raise CampaignError(f"--{option.replace('_', '-')} has no effect {reason}; leave it out")


def check_learning_options(context: typer.Context, mechanism: MechanismName, rule: Rule) -> None:
    """Refuse options of learning that the mechanism or the rule does not use."""
    if mechanism not in LEARNED_WITH:
        refuse_without_effect(context, ["phase1_share"], f"with {mechanism}, which has one phase")
    known = {option for options in LEARNED_WITH.values() for option in options}
    refuse_without_effect(context, sorted(known - set(LEARNED_WITH.get(mechanism, ()))), f"with {mechanism}")
    if rule not in RULES_WITH_BOUND:
        refuse_without_effect(context, ["max_pivot_guess"], f"with the rule {rule}")


class PhaseOptions(TyperCommand):
    """A command whose option --phase takes two files each time; typer knows only options that take one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `--phase PLAN COUNTS` as `--phase PLAN --phase COUNTS`."""
        spread: list[str] = []
        rest = list(args)
        while rest:
            word = rest.pop(0)
            if word.startswith("--phase="):
                rest.insert(0, word.removeprefix("--phase="))
                word = "--phase"
            if word == "--phase":
                if len(rest) < 2 or any(path.startswith("-") and path != "-" for path in rest[:2]):
                    raise DocumentError("--phase needs two files: --phase PLAN COUNTS")
                spread += ["--phase", rest.pop(0), "--phase", rest.pop(0)]
            else:
                spread.append(word)
        return super().parse_args(ctx, spread)
