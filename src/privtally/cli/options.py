"""Arguments and options that several commands share."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from glob import has_magic
from math import sqrt
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer import Argument, Option

from privtally.cli.console import err
from privtally.errors import CampaignError, DocumentError, PlanError
from privtally.names import (
    MECHANISMS,
    RULES,
    HideAmong,
    LearningOption,
    MechanismChoice,
    MechanismName,
    Method,
    Rule,
    without_effect,
)

if TYPE_CHECKING:
    from privtally.documents.campaign import Asking
    from privtally.mechanisms.grouping import Grouping
    from privtally.schema import Schema


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def check_budget(epsilon: float) -> None:
    """Refuse a budget out of range, by the option's name."""
    from privtally.documents.plan import check_epsilon

    try:
        check_epsilon(epsilon)
    except PlanError as refusal:
        raise PlanError(f"--{refusal}") from None


def _budget(context: typer.Context, epsilon: float) -> float:
    if not context.resilient_parsing:  # a shell that completes words needs nothing of what checks them
        check_budget(epsilon)
    return epsilon


FINER = "Finer control"
"""The panel of options that few people need."""

DataArgument = Annotated[
    Path,
    Argument(
        metavar="DATA",
        help="Answers with a column for each question: .csv, .ndjson or .parquet; - is CSV from standard input.",
    ),
]
ManyDataArgument = Annotated[
    list[Path],
    Argument(
        metavar="DATA…",
        help="Files of answers with a column for each question, directories or patterns; - is CSV from standard input.",
    ),
]
SchemaArgument = Annotated[Path, Argument(metavar="SCHEMA", help="The questions: a schema in .toml or .json.")]
FoundSchemaOption = Annotated[
    Path | None,
    Option(
        "--schema",
        "-s",
        metavar="FILE",
        help="The questions; if not given, DATA.toml, DATA.json, schema.toml or schema.json beside the data.",
    ),
]
AnswersOption = Annotated[
    int, Option(metavar="N", help="How often one person may be asked in this campaign; budgets add up.")
]
CodesFlag = Annotated[
    bool, Option("--codes", help="The data has codes 0, 1, 2 … instead of answers, in the order of the schema.")
]
EpsilonOption = Annotated[
    float,
    Option(
        "--epsilon",
        "-e",
        metavar="NUMBER",
        help="The privacy budget of each participant, 0.000001 to 32: a smaller one is more private and less exact.",
        callback=_budget,
    ),
]
JsonFlag = Annotated[bool, Option("--json", help="Print the result as JSON, for programs.")]
MechanismOption = Annotated[
    MechanismName,
    Option(
        "--mechanism",
        "-m",
        metavar="NAME",
        help=f"The mechanism, which is how answers become private: {_or(MECHANISMS)}.",
    ),
]
ChoiceOption = Annotated[
    MechanismChoice,
    Option(
        "--mechanism",
        "-m",
        metavar="NAME",
        help=f"The mechanism, which is how answers become private: auto (what advise recommends), {_or(MECHANISMS)}.",
    ),
]
MethodOption = Annotated[
    Method,
    Option(
        metavar="NAME",
        help="How counts become shares: likelihood (the smallest errors), unbiased, or paper (the paper's own).",
    ),
]
GroupsOption = Annotated[
    str | None,
    Option(
        rich_help_panel=FINER,
        metavar="A,B;C,D",
        help="Groups of questions: a report answers one question of each and shares the budget; auto chooses them.",
    ),
]
PivotsOption = Annotated[
    int,
    Option(
        rich_help_panel=FINER,
        metavar="N",
        help="How many questions a report answers (its pivots), 1 to 3; they share the budget (not with spl, corr-rr).",
    ),
]
CoarsenFlag = Annotated[
    bool,
    Option(
        "--coarsen",
        rich_help_panel=FINER,
        help="First merge answers until all questions have equally many, as the paper does.",
    ),
]
PlanOption = Annotated[Path, Option("--plan", "-p", metavar="FILE", help="The plan that the reports answer.")]
RuleOption = Annotated[
    Rule,
    Option(
        rich_help_panel=FINER, metavar="NAME", help=f"How corr-rr chooses how often answers go together: {_or(RULES)}."
    ),
]
HideOption = Annotated[
    str,
    Option(
        metavar="N",
        help="Among how many questions the one really used is hidden; 1: a report says which; all: it shows them all.",
    ),
]
DecoysOption = Annotated[
    int | None,
    Option(
        rich_help_panel=FINER,
        metavar="N",
        help="How many made-up answers a report shows beside the real one (not with spl); none with smp, else all.",
    ),
]
TogetherOption = Annotated[
    int | None,
    Option(
        rich_help_panel=FINER, metavar="N", help="How many questions a report answers together, 2 or 3 (with pairs)."
    ),
]
SingleOption = Annotated[
    float | None,
    Option(
        rich_help_panel=FINER,
        metavar="SHARE",
        help="The share of people who are asked a single question instead (with pairs); none if not given.",
    ),
]
PairsOfOption = Annotated[
    str | None,
    Option(
        rich_help_panel=FINER,
        metavar="A,B;A,C",
        help="The questions that are asked together (with pairs); every two if not given.",
    ),
]
_PHASE = Option(
    metavar="PLAN COUNTS", help="A plan and its counts; once for the first phase, once for the second, and so on."
)
PhaseOption = Annotated[list[Path], _PHASE]
PhaseOrJobOption = Annotated[list[Path] | None, _PHASE]
SeedOption = Annotated[int, Option(metavar="N", help="The same seed gives the same numbers.")]
ShareOption = Annotated[
    float,
    Option(rich_help_panel=FINER, metavar="SHARE", help="The share of people who are asked in the first phase."),
]
ForceFlag = Annotated[bool, Option("--force", help="Replace the file if it is there already.")]
ShareOrAutoOption = Annotated[
    float,
    Option(
        rich_help_panel=FINER,
        metavar="SHARE",
        help="The share of people who are asked in the first phase.",
        show_default="0.1; auto chooses",
    ),
]


def check_plot(context: typer.Context, plot: Path | None) -> Path | None:
    """Refuse a picture that cannot be drawn, before any work is done."""
    if plot is not None and not context.resilient_parsing:
        from privtally.plots.estimate import check_drawing

        check_drawing(plot)
    return plot


PlotOption = Annotated[
    Path | None, Option(metavar="FILE", help="Also draw it to a .png or .svg file.", callback=check_plot)
]


def within(least: int, most: int) -> Callable[[typer.CallbackParam, int | None], int | None]:
    """A check that refuses a number out of an option's range."""

    def check(param: typer.CallbackParam, value: int | None) -> int | None:
        if value is not None and not least <= value <= most:
            raise CampaignError(f"{param.opts[0]} must be at least {least} and at most {most:,}, got {value}")
        return value

    return check


check_people = within(1, 10**12)
RunsOption = Annotated[
    int, Option(metavar="N", help="How many times everything is simulated.", callback=within(1, 1_000_000))
]
TopOption = Annotated[
    int | None,
    Option(
        metavar="N",
        help="Only the N most frequent answers to each question, with intervals that hold together.",
        callback=within(1, 65_536),
    ),
]
WorkersOption = Annotated[
    int, Option(metavar="N", help="How many processes share the work; 0 for one a core.", callback=within(0, 1_024))
]


def check_people_said(people: int | None) -> int:
    """How many people will be asked, which whoever leaves the mechanism to privtally must say."""
    if people is None:
        raise CampaignError("say with --people how many people will be asked, or name a --mechanism")
    return people


def read_hide_among(text: str) -> HideAmong:
    """Among how many questions the one that is used shall be hidden."""
    from privtally.lab.advise import check_hide_among

    among: Any = int(text) if text.isdecimal() else text
    check_hide_among(among)
    return among  # type: ignore[no-any-return]  # what was checked is a number or "all"


def refuse_without_effect(context: typer.Context, options: Iterable[str], reason: str) -> None:
    """Refuse options that were given although they change nothing."""
    for option in given(context, options):
        raise CampaignError(f"--{option.replace('_', '-')} has no effect {reason}; leave it out")


def given(context: typer.Context, options: Iterable[str]) -> dict[str, Any]:
    """Those of the options that were given on the command line, with their values."""
    sources = {option: context.get_parameter_source(option) for option in options}
    typed = (option for option, source in sources.items() if source is not None and source.name == "COMMANDLINE")
    return {option: context.params[option] for option in typed}


def check_learning(context: typer.Context, mechanism: MechanismName) -> None:
    """Refuse options of learning that the mechanism does not use."""
    named = given(context, ["phase1_share", *get_args(LearningOption)])
    if useless := without_effect(mechanism, named):
        refuse_without_effect(context, [useless[0]], useless[1])


PEOPLE = 10_000
"""The number of people for whom expected errors are said."""


def read_asking(
    context: typer.Context, schema: "Schema", epsilon: float, mechanism: MechanismChoice, **values: Any
) -> "Asking | None":
    """How the options of a command say to ask, refused where they change nothing; None if privtally shall choose.

    The values are those of the options that `Asking.of` takes; only what was typed counts. Says which groups are chosen
    where that is left to privtally.
    """
    from privtally.documents.campaign import Asking

    typed = given(context, values)
    if mechanism == "auto":
        refuse_without_effect(context, typed, "with --mechanism auto, which chooses")
        return None
    refuse_without_effect(context, ["hide_among"], f"with {mechanism}; --decoys says what a report shows")
    check_learning(context, mechanism)
    if "groups" in typed:
        pivots, decoys = typed.get("pivots", 1), typed.get("decoys")
        typed["groups"] = read_groups(typed["groups"], schema, epsilon, mechanism, pivots, decoys)
    if "pairs_of" in typed:
        typed["pairs_of"] = named_groups(typed["pairs_of"], schema)
    if mechanism == "pairs":
        err.print("A report says which questions it answers: nobody's question is hidden among others.")
    return Asking.of(mechanism, **typed)


def read_groups(
    text: str,
    schema: "Schema",
    epsilon: float,
    mechanism: MechanismName,
    pivots: int = 1,
    decoys: int | None = None,
) -> Sequence[Sequence[str]]:
    """The groups that an option names, by semicolons and commas; if it says auto, the best ones, and says why."""
    if text != "auto":
        return named_groups(text, schema)
    from privtally.mechanisms.grouping import best_groups
    from privtally.mechanisms.named import NAMED

    if pivots != 1:
        raise CampaignError("--groups auto chooses for one question a report; name the groups, or leave --pivots out")
    named = NAMED[mechanism]
    named.check_takes_groups()
    chosen = best_groups(schema.sizes, Fraction(epsilon), named.hidden_among(decoys), named.learned)
    groups = tuple(tuple(schema.names[place] for place in group) for group in chosen.groups)
    err.print(_said(groups, chosen, epsilon), markup=False)
    return groups


def named_groups(text: str, schema: "Schema") -> list[list[str]]:
    """The groups that an option names, by semicolons and commas."""
    from privtally.exact.canonical import normal

    return [names_between_commas(group, schema.names) for group in normal(text).split(";")]


def names_between_commas(text: str, known: Sequence[str]) -> list[str]:
    """The names in a text, the longest first: a comma may stand in a name too, and spaces around it."""
    words, names = text.split(","), list[str]()
    while words:
        joined = [",".join(words[:length]) for length in range(len(words), 0, -1)]
        name = next((name for exact in joined for name in (exact, exact.strip()) if name in known), words[0].strip())
        names.append(name)
        words = words[name.count(",") + 1 :]
    return names


def _said(groups: Sequence[Sequence[str]], chosen: "Grouping", epsilon: float) -> str:
    count = "one group" if len(groups) == 1 else f"{len(groups)} groups with ε = {epsilon / len(groups):.3g} each"
    members = "; ".join(", ".join(group) for group in groups)
    return (
        f"Chose {count}: {members}. With {PEOPLE:,} people the unbiased estimate would have "
        f"{_points(chosen.variance)} (half a 95 % interval, if all answers are equally frequent). "
        f"All in one group: {_points(chosen.together)}; every question alone: {_points(chosen.alone)}."
    )


def _points(variance: float | None) -> str:
    if variance is None:
        return "not possible"
    from privtally.documents.estimate import NORMAL_95

    return f"± {100 * NORMAL_95 * sqrt(variance / PEOPLE):.2g} percentage points"


def find_schema(data: Path) -> Path:
    """The schema named as the data is, or schema.toml; says which it is."""
    from privtally.files import STANDARD, missing, refuse_spreadsheet

    if data != STANDARD and not data.exists() and not has_magic(str(data)):
        raise DocumentError(missing(data))
    refuse_spreadsheet(data)
    candidates = [*_candidates(data)]
    for path in candidates:
        if path.is_file():
            err.print(f"The questions are those of {path}.")
            return path
    is_csv = data.is_file() and data.suffix.lower() == ".csv"
    how = f"privtally init --from-csv {quote(str(data))}" if is_csv else "privtally init"
    raise DocumentError(
        f"{data} needs a schema, and there is none in {', '.join(map(str, candidates))}; name one with --schema, or "
        f"write one: {how}"
    )


def _candidates(data: Path) -> list[Path]:
    from privtally.files import STANDARD
    from privtally.tables.database import format_of

    beside = Path() if data == STANDARD else data.parent
    name = data.name
    while format_of(Path(name)) is not None or name.lower().endswith(".gz"):
        name = name.rpartition(".")[0]
    names = ["schema"] if data == STANDARD or name in ("", "..") else [name, "schema"]
    return [beside / f"{name}{suffix}" for name in dict.fromkeys(names) for suffix in (".toml", ".json")]
