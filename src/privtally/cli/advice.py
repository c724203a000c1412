"""advise: which way to ask."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from privtally.cli import options
from privtally.cli.auto import if_said, layout
from privtally.cli.comparing import possible, print_comparison
from privtally.cli.console import out, print_json, progress, read_answers, write_picture
from privtally.cli.numbers import points, surer
from privtally.errors import CampaignError
from privtally.names import HIDE_AMONG, MECHANISMS, METHODS, RULES, HideAmong

if TYPE_CHECKING:
    from privtally.lab.advise import Design, Expected, Question
    from privtally.lab.compare import Comparison
    from privtally.schema import Records, Schema

USELESS = 40.0
"""With ± so many percentage points a share could be nearly anything."""
RUNS, SEED, DRAWN = 4, 1, 5_000
"""How often --all simulates every way to ask, from which seed, and how many different people stand for a population."""
PHASE1_SHARE = 0.1


def advise(
    schema: options.SchemaArgument,
    people: Annotated[
        int, Option(metavar="N", help="How many people will be asked.", callback=options.check_people)
    ] = 2_000,
    epsilon: options.EpsilonOption = 1.0,
    hide_among: options.HideOption = str(HIDE_AMONG),
    pairs: Annotated[
        bool, Option("--pairs", help="Expect the error of two-way tables: which answers go together.")
    ] = False,
    within: Annotated[
        float | None,
        Option(metavar="POINTS", help="Also say how many people, or which budget, ± so many percentage points take."),
    ] = None,
    plot: Annotated[
        Path | None,
        Option(metavar="FILE", help="Also draw ± against the budget to a .png or .svg file."),
    ] = None,
    every: Annotated[
        bool, Option("--all", help="Also simulate every other way to ask, with two phases too; takes a minute.")
    ] = False,
    pilot: Annotated[
        Path | None,
        Option(metavar="DATA", help="A file of answers like those expected, for --all; if not given, three kinds."),
    ] = None,
    json: options.JsonFlag = False,
) -> None:
    """Recommend how to ask before anybody is asked, and say ± how many percentage points to expect.

    The recommendation is computed, not simulated. Of the ways to ask in one phase that hide the question as well as
    --hide-among says, it is the one with the smallest error if all answers are equally frequent.
    """
    from privtally.files import read_schema
    from privtally.lab import advise as lab
    from privtally.plots.advice import draw_advice
    from privtally.plots.estimate import check_picture_path

    question = lab.Question(people, epsilon, options.read_hide_among(hide_among), pairs)
    if within is not None and not 0 < within <= 100:
        raise CampaignError(f"--within must be above 0 and at most 100 percentage points, got {within}")
    if pilot is not None and not every:
        raise CampaignError("--pilot has no effect without --all, which simulates; leave it out, or add --all")
    if every and pairs:
        raise CampaignError("--all has no effect with --pairs: two-way tables are not simulated; leave it out")
    if plot is not None:
        check_picture_path(plot)
    the_schema = read_schema(schema)
    chosen, said = (lab.best(the_schema, own) for own in (question, replace(question, hide_among=1)))
    sentences = list(_sentences(the_schema, question, chosen, said))
    result: dict[str, Any] = {
        "recommendation": " ".join(sentences),
        **chosen.body(),
        "method": "unbiased" if pairs else METHODS[0],
        "goal": "pairs" if pairs else "frequencies",
        "hide_among": question.hide_among,
        "if_said": said.body(),
    }
    if within is not None:
        needed, budget = (find(the_schema, question, within) for find in (lab.people_for, lab.budget_for))
        result["wanted"] = {"percentage_points": within, "people": needed, "epsilon": budget}
    if plot is not None:
        write_picture(draw_advice(lab.by_budget(the_schema, question)), plot)
    rows = []
    if every:
        rows = _simulated(the_schema, question, None if pilot is None else read_answers(pilot, the_schema))
        result["simulated"] = [row.body() for row in rows]
    if json:
        print_json(result)
        return
    for sentence in sentences:
        out.print(sentence)
    out.print(surer(epsilon))
    if within is not None:
        out.print(_say_needed(question, result["wanted"]))
    if every:
        print_comparison(rows, people, RUNS, every=False)
    elif not pairs:
        more = "; --within 5 says how many people ± 5 points take" if within is None else ""
        out.print(f"--all simulates every other way to ask{more}.")


def _sentences(schema: "Schema", question: "Question", chosen: "Expected", said: "Expected") -> Iterator[str]:
    what = "a cell of a two-way table" if question.pairs else "the share of an answer"
    asked = f"with {question.people:,} people at ε = {question.epsilon:g}"
    yield f"Run {layout(chosen.design)}: expect {points(chosen.points)} for {what}, {asked}."
    if chosen.points > USELESS:
        yield "That says nothing: ask more people, spend a larger ε, or ask less."
    yield _shown(schema, chosen.design) + if_said(chosen, said) + "."


def _shown(schema: "Schema", design: "Design") -> str:
    """What a report shows, and who can tell what was used."""
    if design.mechanism == "spl":
        return "Every report answers every question, so that there is none to guess"
    if design.mechanism == "smp":
        return "Every report says which question was really used; the answer itself stays private"
    groups = design.groups or [schema.names]
    least = min(len(group) for group in groups if len(group) > 1)
    among = least if design.decoys is None else min(least, design.decoys + 1)
    group = " of each group" if len(groups) > 1 else ""
    return f"A report shows {among} questions{group}; one of them was really used, and nothing in it says which"


def _simulated(schema: "Schema", question: "Question", pilot: "Records | None") -> "list[Comparison]":
    """Every mechanism, and what is recommended with more and less hiding, simulated on pilot data or on populations of
    all kinds.
    """
    import numpy as np

    from privtally.lab.advise import best
    from privtally.lab.compare import Study, compare
    from privtally.lab.population import stated_populations
    from privtally.lab.variants import Variant, variants

    known = [pilot] if pilot else stated_populations(schema, DRAWN, np.random.default_rng(SEED)).values()
    studies = [Study(own, PHASE1_SHARE, RUNS, SEED, question.people) for own in known]
    hiding: list[HideAmong] = [1, question.hide_among, "all"]
    ways = [Variant(**best(schema, replace(question, hide_among=among)).design.options) for among in hiding]
    mechanisms = possible(studies, MECHANISMS, question.epsilon)
    ways += [variant for variant in variants(mechanisms) if variant.rule in (None, RULES[0])]
    chosen = [(variant, question.epsilon) for variant in dict.fromkeys(ways)]
    with progress("Simulating", len(chosen) * len(studies)) as advance:
        return compare(studies, chosen, METHODS[:1], workers=os.cpu_count() or 1, advance=advance)


def _say_needed(question: "Question", wanted: dict[str, Any]) -> str:
    from privtally.documents.plan import LARGEST_EPSILON
    from privtally.lab.advise import MOST_PEOPLE

    people, epsilon = wanted["people"], wanted["epsilon"]
    many = f"more than {MOST_PEOPLE:,}" if people is None else f"about {people:,}"
    budget = f"more than ε = {LARGEST_EPSILON:g}" if epsilon is None else f"ε = {epsilon:g}"
    return (
        f"± {wanted['percentage_points']:g} points take {many} {'person' if people == 1 else 'people'} "
        f"at ε = {question.epsilon:g}, or {budget} with {question.people:,} people."
    )
