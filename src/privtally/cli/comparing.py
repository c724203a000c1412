"""compare: all mechanisms and methods, simulated."""

import os
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from privtally.cli import options
from privtally.cli.commands import complete_list
from privtally.cli.console import err, out, print_json, progress, read_answers, write_picture
from privtally.cli.mistakes import not_among
from privtally.errors import CampaignError, PrivtallyError
from privtally.names import MAX_PIVOT_GUESS, MECHANISMS, METHODS, RULES_WITH_BOUND, MechanismName

if TYPE_CHECKING:
    from privtally.lab.compare import Comparison

METHODS_HELP = (
    "Methods, separated by commas: pooled, unbiased, paper; +simplex after the last two makes their shares add up to "
    "100 % with none below 0."
)


def compare(
    data: options.DataArgument,
    schema: options.FoundSchemaOption = None,
    epsilon: Annotated[
        str, Option("--epsilon", "-e", metavar="NUMBERS", help="One budget, or several separated by commas.")
    ] = "1",
    phase1_share: options.ShareOption = 0.1,
    people: Annotated[
        int | None,
        Option(
            metavar="N", help="Ask so many people, drawn from the data with replacement.", callback=options.check_people
        ),
    ] = None,
    groups: Annotated[
        str | None,
        Option(
            metavar="A,B;C,D",
            help="Compare in these groups of questions as well; auto chooses them for each mechanism.",
        ),
    ] = None,
    pivots: Annotated[
        int,
        Option(metavar="N", help="Compare smp with so many questions a report as well.", callback=options.within(1, 3)),
    ] = 1,
    max_pivot_guess: options.GuessOption = MAX_PIVOT_GUESS,
    runs: options.RunsOption = 200,
    mechanisms: Annotated[
        str | None,
        Option(
            metavar="NAMES",
            help="Mechanisms (how answers become private), separated by commas; all that fit if not given.",
            autocompletion=complete_list(MECHANISMS),
        ),
    ] = None,
    methods: Annotated[
        str | None, Option(metavar="NAMES", help=METHODS_HELP, autocompletion=complete_list(METHODS))
    ] = None,
    seed: options.SeedOption = 1,
    workers: options.WorkersOption = 0,
    plot: options.PlotOption = None,
    every: Annotated[bool, Option("--all", help="Show every method, not only the best of each mechanism.")] = False,
    json: options.JsonFlag = False,
) -> None:
    """Compare all mechanisms and methods by simulation, on public or pilot data of your own.

    Every way to ask is simulated --runs times with this program's own estimators. The answer is the best method of each
    mechanism, as half the width of a 95 % interval in percentage points; --all shows all methods.
    """
    from privtally.cli.groups import named_groups
    from privtally.cli.schemas import find_schema
    from privtally.documents.plan import design
    from privtally.files import read_schema
    from privtally.lab import compare as lab
    from privtally.lab.variants import chosen_groups, extended, fits, variants
    from privtally.plots.comparison import draw_comparison
    from privtally.plots.estimate import check_picture_path

    if every and json:
        raise CampaignError("--all has no effect with --json, which shows everything; leave it out")
    if plot is not None:
        check_picture_path(plot)
    try:
        budgets = list(dict.fromkeys(map(float, epsilon.split(","))))
    except ValueError:
        raise CampaignError(f"--epsilon must be a number, or numbers separated by commas, got {epsilon!r}") from None
    for budget in budgets:
        options.check_budget(budget)
    the_methods = _chosen("--methods", methods, lab.ALL_METHODS)
    wanted = _chosen("--mechanisms", mechanisms, MECHANISMS)
    if not 0 < max_pivot_guess <= 1:
        raise CampaignError(f"--max-pivot-guess must be above 0 and at most 1, got {max_pivot_guess}")
    the_schema = read_schema(schema or find_schema(data, notice=err.print))
    named = None
    if groups not in (None, "auto"):
        named = tuple(map(tuple, named_groups(groups or "", the_schema)))
        design(the_schema, budgets[0], "smp", groups=named)  # takes any groups, and refuses names that are none
    study = lab.Study(read_answers(data, the_schema), phase1_share, runs, seed, people, max_pivot_guess)
    the_mechanisms: list[MechanismName] = []
    for mechanism in (mechanism for mechanism in MECHANISMS if mechanism in wanted):
        try:
            lab.check_possible(study, mechanism, budgets[0])
            the_mechanisms.append(mechanism)
        except PrivtallyError as refusal:
            if mechanisms is not None:
                raise
            err.print(f"Left out {mechanism}: {refusal}.")
    if not the_mechanisms:
        raise CampaignError("no mechanism can ask these people these questions; ask more people, or merge answers")
    chosen = []
    for budget in budgets:
        for variant in (each for each in variants(the_mechanisms) if fits(each, the_schema)):
            own = chosen_groups(the_schema, budget, variant.mechanism) if groups == "auto" else named
            chosen += [(each, budget) for each in (variant, *extended(the_schema, budget, variant, own, pivots))]
    with progress("Comparing", len(chosen)) as advance:
        rows = lab.compare(study, chosen, the_methods, workers=workers or os.cpu_count() or 1, advance=advance)
    table = [row.body() for row in rows]
    if plot is not None:
        write_picture(draw_comparison(table), plot)
    for mechanism in dict.fromkeys(row.mechanism for row in rows if row.without_answer):
        err.print(
            f"In some runs of {mechanism} nothing could be estimated; there all answers count as equally frequent."
        )
    if json:
        print_json(table)
    else:
        _print_comparison(rows, study.people, runs, every=every)


def _best_of_each(rows: "list[Comparison]") -> "list[Comparison]":
    """The best row of each mechanism, with its groups and pivots, at each budget, in the order of the rows."""
    best: dict[tuple[Any, ...], Comparison] = {}
    for row in rows:
        best.setdefault((row.epsilon, row.mechanism, row.groups, row.pivots), row)
    return list(best.values())


def _print_comparison(rows: "list[Comparison]", people: int, runs: int, *, every: bool) -> None:
    from rich.table import Column, Table

    from privtally.cli.auto import HALF_WIDTH, layout
    from privtally.cli.numbers import number, points
    from privtally.lab.advise import POINTS
    from privtally.lab.compare import SIMPLEX
    from privtally.lab.offers import Design

    def campaign(row: "Comparison") -> str:
        rule = f", {row.rule}" if row.rule else ""
        return layout(Design(row.mechanism, row.groups, row.pivots)) + rule

    for epsilon in dict.fromkeys(row.epsilon for row in rows):
        own = [row for row in rows if row.epsilon == epsilon]
        hidden = [row for row in own if row.mechanism != "smp" and row.rule in (None, *RULES_WITH_BOUND)][:1]
        said = [f"{campaign(row)} with method {row.method}, {points(row.points)}" for row in (own[0], *hidden)]
        hides = f"; of those that hide which question was really used, {said[1]}" if hidden not in ([], own[:1]) else ""
        out.print(f"Best at ε = {epsilon:g}: {said[0]}{hides}.")
    out.print(f"{people:,} people, {runs} simulated runs; {HALF_WIDTH}")
    numbers = (Column(name, justify="right") for name in ("measured", "s.e.", "expected"))
    table = Table("ε", "way to ask", "method", *numbers)
    shown = rows if every else _best_of_each(rows)
    for place, row in enumerate(shown):
        if place and shown[place - 1].epsilon != row.epsilon:
            table.add_section()
        spread = row.standard_error if row.mse else None
        error = "" if spread is None else number(row.points * spread / row.mse / 2)
        expected = "" if row.expected_mse is None else f"± {POINTS * row.expected_mse**0.5:.3g}"
        table.add_row(f"{row.epsilon:g}", campaign(row), row.method, f"± {row.points:.3g}", error, expected)
    out.print(table)
    out.print("In percentage points: what was measured, its standard error, and what advise expects of pooled.")
    if len(shown) < len(rows):
        out.print(f"The best method of each mechanism; --all shows all {len(rows)} rows.")
    if any(row.method.endswith(SIMPLEX) for row in shown):
        out.print(f"{SIMPLEX}: shares moved to the nearest ones that add up to 100 % with none below 0.")


def _chosen(option: str, words: str | None, known: tuple[str, ...]) -> list[str]:
    """The names in a list separated by commas; all that are known if there is none."""
    chosen = list(known) if words is None else list(dict.fromkeys(word.strip() for word in words.split(",")))
    for word in chosen:
        if word not in known:
            raise CampaignError(not_among(option, word, known))
    return chosen
