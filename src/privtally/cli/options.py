"""Arguments and options that several commands share."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer import Argument, Option
from typer.core import TyperCommand

from privtally.errors import CampaignError, DocumentError
from privtally.names import (
    LEARNED_WITH,
    RULES_WITH_BOUND,
    LearningOption,
    MechanismChoice,
    MechanismName,
    Method,
    Observer,
    Rule,
)

DataArgument = Annotated[
    Path,
    Argument(
        metavar="DATA",
        help="Answers, a column for each attribute: .csv, .ndjson, .parquet, or - for CSV on standard input.",
    ),
]
ManyDataArgument = Annotated[
    list[Path],
    Argument(
        metavar="DATA…",
        help="Files of answers, directories of them or patterns, a column for each attribute; - is CSV from a pipe.",
    ),
]
CodesFlag = Annotated[
    bool, Option("--codes", help="The data has codes 0, 1, 2 … instead of labels, in the labels' order.")
]
GroupsOption = Annotated[
    str | None,
    Option(metavar="A,B;C,D", help="Groups of attributes, each with a pivot and a share of the budget; auto chooses."),
]
PivotsOption = Annotated[
    int, Option(help="How many questions a report answers, with an equal share of the budget (not spl, corr-rr).")
]
CoarsenFlag = Annotated[
    bool, Option("--coarsen", help="First merge the labels of all attributes into one number of classes, as the paper.")
]
EpsilonOption = Annotated[float, Option("--epsilon", "-e", help="The privacy budget of each participant.")]
JsonFlag = Annotated[bool, Option("--json", help="Print the result as JSON, for programs.")]
MechanismOption = Annotated[MechanismName, Option("--mechanism", "-m", help="How answers become private.")]
ChoiceOption = Annotated[
    MechanismChoice, Option("--mechanism", "-m", help="How answers become private; auto takes what advise recommends.")
]
MethodOption = Annotated[Method, Option(help="How counts become frequencies.")]
PlanOption = Annotated[Path, Option("--plan", "-p", help="The plan that is answered.")]
RuleOption = Annotated[Rule, Option(help="How corr-rr chooses its copy probabilities.")]
GuessOption = Annotated[
    float, Option(help="How often somebody who sees a report may guess which question it really answers.")
]
BoundOption = Annotated[
    float | None,
    Option(help="How often somebody who sees a report may guess which question it really answers; 0.5 if not given."),
]
ObserverOption = Annotated[
    Observer, Option(help="Who guesses: somebody who knows the plan alone, or also the totals of Phase I.")
]
PhaseOption = Annotated[
    list[Path], Option(metavar="PLAN COUNTS", help="A phase's plan and counts; once for each phase.")
]


def within(least: int, most: int) -> Callable[[typer.CallbackParam, int | None], int | None]:
    """A check that refuses a number out of an option's range."""

    def check(param: typer.CallbackParam, value: int | None) -> int | None:
        if value is not None and not least <= value <= most:
            raise CampaignError(f"{param.opts[0]} must be at least {least} and at most {most:,}, got {value}")
        return value

    return check


TopOption = Annotated[
    int | None,
    Option(
        metavar="N",
        help="Only the N most frequent answers to each question, with intervals that hold together.",
        callback=within(1, 65_536),
    ),
]
PlotOption = Annotated[Path | None, Option(help="Also draw it to a .png or .svg file.")]
RunsOption = Annotated[int, Option(help="How many times every campaign is simulated.", callback=within(1, 1_000_000))]
FoundSchemaOption = Annotated[
    Path | None,
    Option(
        "--schema", "-s", help="A schema in .toml or .json; if not given, DATA.toml or schema.toml beside the data."
    ),
]
SeedOption = Annotated[int, Option(help="The same seed gives the same numbers.")]
ShareOption = Annotated[float, Option(help="The share of people who are asked in Phase I.")]
check_people = within(1, 10**12)
WorkersOption = Annotated[
    int, Option(help="How many processes share the work; 0 for one a core.", callback=within(0, 1_024))
]


AUTO = "with --mechanism auto, which chooses"
"""Why options of a mechanism are refused where none is named."""


def refuse_without_effect(context: typer.Context, options: Iterable[str], reason: str) -> None:
    """Refuse options that were given although they change nothing."""
    for option in options:
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            raise CampaignError(f"--{option.replace('_', '-')} has no effect {reason}; leave it out")


def check_learning(
    context: typer.Context, mechanism: MechanismName, rule: Rule, used: Sequence[LearningOption] = ()
) -> None:
    """Refuse options of learning that the mechanism or the rule does not use, nor anything else that was asked for."""
    if mechanism not in LEARNED_WITH:
        refuse_without_effect(context, ["phase1_share"], f"with {mechanism}, which has one phase")
    used = (*LEARNED_WITH.get(mechanism, ()), *used)
    unused = [option for option in get_args(LearningOption) if option not in used]
    refuse_without_effect(context, unused, f"with {mechanism}")
    if rule not in RULES_WITH_BOUND:
        refuse_without_effect(context, ["max_pivot_guess", "observer"], f"with the rule {rule}")


class PhaseOptions(TyperCommand):
    """A command that reads `--phase PLAN COUNTS` as `--phase PLAN --phase COUNTS`, as typer's options take one file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        rest = iter(args)
        for word in rest:
            option, _, file = word.partition("=")
            if option != "--phase":
                spread.append(word)
                continue
            files = [*filter(None, [file]), *islice(rest, 1 if file else 2)]
            if len(files) < 2 or any(path.startswith("-") and path != "-" for path in files):
                raise DocumentError("--phase needs two files: --phase PLAN COUNTS")
            spread += ["--phase", files[0], "--phase", files[1]]
        return super().parse_args(ctx, spread)
