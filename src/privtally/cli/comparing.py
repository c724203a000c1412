"""compare: all mechanisms and methods, simulated."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from privtally.cli import options
from privtally.cli.commands import complete_list
from privtally.cli.console import err, out, print_json, progress, read_answers, write_picture
from privtally.cli.mistakes import not_among
from privtally.errors import CampaignError, PrivtallyError
from privtally.names import HIDE_AMONG, MECHANISMS, METHODS, MechanismName

if TYPE_CHECKING:
    from privtally.lab.compare import Comparison, Study

METHODS_HELP = (
    "Methods, separated by commas: likelihood, unbiased, paper; +simplex after the last two makes their shares add up "
    "to 100 % with none below 0."
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
    hide_among: options.HideOption = str(HIDE_AMONG),
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

    Every way to ask is simulated --runs times with this program's own estimators, and so is the one that advise
    recommends with --hide-among, unless mechanisms are named. The answer is the best method of each way to ask, as 1.96
    times its error in percentage points; --all shows all methods.
    """
    from privtally.cli.groups import named_groups
    from privtally.cli.schemas import find_schema
    from privtally.documents.plan import design
    from privtally.files import read_schema
    from privtally.lab import compare as lab
    from privtally.lab.advise import recommend
    from privtally.lab.variants import Variant, chosen_groups, extended, fits, variants
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
    among = options.read_hide_among(hide_among)
    the_schema = read_schema(schema or find_schema(data, notice=err.print))
    named = None
    if groups not in (None, "auto"):
        named = tuple(map(tuple, named_groups(groups or "", the_schema)))
        design(the_schema, budgets[0], "smp", groups=named)  # takes any groups, and refuses names that are none
    study = lab.Study(read_answers(data, the_schema), phase1_share, runs, seed, people)
    the_mechanisms = possible([study], wanted, budgets[0], named=mechanisms is not None)
    chosen = []
    for budget in budgets:
        for variant in (each for each in variants(the_mechanisms) if fits(each, the_schema)):
            own = chosen_groups(the_schema, budget, variant.mechanism) if groups == "auto" else named
            chosen += [(each, budget) for each in (variant, *extended(the_schema, budget, variant, own, pivots))]
        if mechanisms is None:
            advised = recommend(the_schema, budget, study.people, hide_among=among).design
            chosen += [(Variant(**asdict(advised)), budget)]
    chosen = list(dict.fromkeys(chosen))
    with progress("Comparing", len(chosen)) as advance:
        rows = lab.compare([study], chosen, the_methods, workers=workers or os.cpu_count() or 1, advance=advance)
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
        print_comparison(rows, study.people, runs, every=every)


def possible(
    studies: "Sequence[Study]", wanted: Sequence[str], epsilon: float, *, named: bool = False
) -> list[MechanismName]:
    """Those of the wanted mechanisms that can ask these people these questions; says which cannot, or refuses one that
    was named.
    """
    from privtally.lab.compare import check_possible

    found: list[MechanismName] = []
    for mechanism in (mechanism for mechanism in MECHANISMS if mechanism in wanted):
        try:
            for study in studies:
                check_possible(study, mechanism, epsilon)
            found.append(mechanism)
        except PrivtallyError as refusal:
            if named:
                raise
            err.print(f"Left out {mechanism}: {refusal}.")
    if not found:
        raise CampaignError("no mechanism can ask these people these questions; ask more people, or merge answers")
    return found


def _best_of_each(rows: "list[Comparison]") -> "list[Comparison]":
    """The best row of each way to ask at each budget, in the order of the rows."""
    best: dict[tuple[Any, ...], Comparison] = {}
    for row in rows:
        best.setdefault((row.epsilon, row.mechanism, row.groups, row.pivots, row.decoys), row)
    return list(best.values())


def print_comparison(rows: "list[Comparison]", people: int, runs: int, *, every: bool) -> None:
    """The best way to ask in one sentence, and all of them as a table."""
    from rich.table import Column, Table

    from privtally.cli.auto import layout
    from privtally.cli.numbers import number, points
    from privtally.lab.advise import Design
    from privtally.lab.compare import SIMPLEX

    def campaign(row: "Comparison") -> str:
        rule = f", {row.rule}" if row.rule else ""
        return layout(Design(row.mechanism, row.groups, row.pivots, row.decoys)) + rule

    for epsilon in dict.fromkeys(row.epsilon for row in rows):
        own = [row for row in rows if row.epsilon == epsilon]
        hidden = [row for row in own if row.mechanism != "smp"][:1]
        said = [f"{campaign(row)} with method {row.method}, {points(row.points)}" for row in (own[0], *hidden)]
        hides = f"; of those that hide which question was really used, {said[1]}" if hidden not in ([], own[:1]) else ""
        out.print(f"Best at ε = {epsilon:g}: {said[0]}{hides}.")
    out.print(f"{people:,} people, {runs} simulated runs; ± is 1.96 times the error of a share, in percentage points.")
    numbers = (Column(name, justify="right") for name in ("measured", "s.e."))
    table = Table("ε", "way to ask", "method", *numbers)
    shown = rows if every else _best_of_each(rows)
    for place, row in enumerate(shown):
        if place and shown[place - 1].epsilon != row.epsilon:
            table.add_section()
        spread = row.standard_error if row.mse else None
        error = "" if spread is None else number(row.points * spread / row.mse / 2)
        table.add_row(f"{row.epsilon:g}", campaign(row), row.method, f"± {row.points:.3g}", error)
    out.print(table)
    if len(shown) < len(rows):
        out.print(f"The best method of each way to ask; --all shows all {len(rows)} rows.")
    if any(row.method.endswith(SIMPLEX) for row in shown):
        out.print(f"{SIMPLEX}: shares moved to the nearest ones that add up to 100 % with none below 0.")


def _chosen(option: str, words: str | None, known: tuple[str, ...]) -> list[str]:
    """The names in a list separated by commas; all that are known if there is none."""
    chosen = list(known) if words is None else list(dict.fromkeys(word.strip() for word in words.split(",")))
    for word in chosen:
        if word not in known:
            raise CampaignError(not_among(option, word, known))
    return chosen
