"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from privtally.names import MechanismName, Method, Rule

DataArgument = Annotated[
    Path, typer.Argument(metavar="DATA.csv", help="Answers: a header of attribute names, then labels.")
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
        help="How often an observer may name the answer that was randomised (rule robust; 1: it may be known).",
    ),
]
RunsOption = Annotated[int, typer.Option("--runs", help="How many times every campaign is simulated.")]
SeedOption = Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")]
WorkersOption = Annotated[int, typer.Option("--workers", help="How many processes share the work; 0 for one a core.")]
ShareOption = Annotated[float, typer.Option("--phase1-share", help="The share of people who are asked in Phase I.")]
