"""advise: which way to ask."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from privtally.cli.auto import HALF_WIDTH, in_words, layout
from privtally.cli.console import out, print_json, read_answers, write_picture
from privtally.cli.numbers import number, percent, points, surer
from privtally.cli.options import EpsilonOption, GuessOption, JsonFlag, SchemaArgument, check_people
from privtally.errors import CampaignError
from privtally.names import MAX_PIVOT_GUESS

if TYPE_CHECKING:
    from privtally.lab.advise import Expected
    from privtally.lab.offers import Question


USELESS = 50.0
"""With ± so many percentage points every share could be anything."""


def advise(
    schema: SchemaArgument,
    people: Annotated[int, Option(metavar="N", help="How many people will be asked.", callback=check_people)] = 2_000,
    epsilon: EpsilonOption = 1.0,
    pairs: Annotated[
        bool, Option("--pairs", help="Expect the error of two-way tables: which answers go together.")
    ] = False,
    pilot: Annotated[
        Path | None,
        Option(
            metavar="DATA",
            help="A file of answers like those expected; if not given, answers of all kinds are assumed.",
        ),
    ] = None,
    max_pivot_guess: GuessOption = MAX_PIVOT_GUESS,
    within: Annotated[
        float | None,
        Option(metavar="POINTS", help="Also say how many people, or which budget, ± so many percentage points take."),
    ] = None,
    plot: Annotated[
        Path | None,
        Option(metavar="FILE", help="Also draw ± against the budget and the guesses to a .png or .svg file."),
    ] = None,
    every: Annotated[bool, Option("--all", help="Also show what to expect of every other way to ask.")] = False,
    json: JsonFlag = False,
) -> None:
    """Recommend how to ask before anybody is asked, and say ± how many percentage points to expect.

    It simulates nothing and takes about two seconds, a few more with --within. Without --pilot the recommendation is
    the one that is never far behind the best, whether questions are answered alike, similarly or differently; a second
    phase must gain more than 3 %. Smp, whose reports say which question was really used, is recommended with
    --max-pivot-guess 1 only.
    """
    from privtally.files import read_schema
    from privtally.lab.advise import POINTS, Adviser, best_of_each, check_question, choose
    from privtally.lab.expectation import PRIOR, pilot_population, prior_populations
    from privtally.lab.offers import Question
    from privtally.plots.advice import draw_advice
    from privtally.plots.estimate import check_picture_path

    question = Question(people, epsilon, max_pivot_guess, pairs)
    check_question(question)
    if within is not None and not 0 < within <= 100:
        raise CampaignError(f"--within must be above 0 and at most 100 percentage points, got {within}")
    if every and json:
        raise CampaignError("--all has no effect with --json, which shows everything; leave it out")
    if plot is not None:
        check_picture_path(plot)
    the_schema = read_schema(schema)
    if pilot is None:
        populations = list(prior_populations(the_schema).values())
    else:
        populations = [pilot_population(read_answers(pilot, the_schema))]
    adviser = Adviser(the_schema, populations)
    rows = adviser.expect(question)
    chosen, rows = choose(rows, max_pivot_guess), best_of_each(rows)
    sentences = list(_sentences(question, chosen, rows))
    result: dict[str, Any] = {
        "recommendation": " ".join(sentences),
        **chosen.body(),
        "method": "unbiased" if pairs else "pooled",
        "goal": "pairs" if pairs else "frequencies",
        "expected": [row.body() for row in rows],
        "prior": "all answers equally frequent" if pairs else PRIOR if pilot is None else "the pilot data",
    }
    if within is not None:
        needed, budget = adviser.people_for(within / POINTS, question), adviser.budget_for(within / POINTS, question)
        result["wanted"] = {"percentage_points": within, "people": needed, "epsilon": budget}
    if plot is not None:
        write_picture(draw_advice(adviser.by_budget(question), adviser.by_secrecy(question), epsilon), plot)
    if json:
        print_json(result)
        return
    for sentence in sentences:
        out.print(sentence)
    out.print(surer(epsilon))
    if within is not None:
        out.print(_say_needed(question, result["wanted"]))
    if not every:
        more = "; --within 5 says how many people ± 5 points take" if within is None else ""
        out.print(f"--all shows every other way to ask{more}.")
        return
    _print_expected(rows)
    out.print(HALF_WIDTH)
    out.print("Guessed: how often somebody who sees a report can guess which question was really used.")
    if pilot is None and not pairs:
        out.print("Averages over questions that are answered alike, similarly and differently.")


def _sentences(question: "Question", chosen: "Expected", rows: "list[Expected]") -> Iterator[str]:
    what = "a cell of a two-way table" if question.pairs else "the share of an answer"
    asked = f"with {question.people:,} people at ε = {question.epsilon:g}"
    yield f"Run {in_words(chosen.design)}: expect {points(chosen.points)} for {what}, {asked}."
    if chosen.points > USELESS:
        yield "That says nothing: ask more people, spend a larger ε, or ask less."
    if chosen.pivot_guess == 1:
        yield "Every report says which question was really used; the answer itself stays private."
        return
    guess = "Every report answers every question, so that there is none to guess"
    if chosen.pivot_guess is not None:
        often = percent(chosen.pivot_guess)
        guess = f"Somebody who sees a report can guess which question was really used {often} of the time at most"
    known = min((row for row in rows if row.pivot_guess == 1), key=lambda row: row.error, default=chosen)
    lets = "it" if chosen.pivot_guess is not None else "which question was really used"
    better = f"; {in_words(known.design)} lets everybody know {lets} and has ± {number(known.points)} points"
    yield guess + (f"{better}." if known.error < chosen.error else ".")


def _print_expected(rows: "list[Expected]") -> None:
    from rich.table import Column, Table

    numbers = (Column(name, justify="right") for name in ("first phase", "expect", "guessed at most"))
    table = Table("way to ask", *numbers)
    for row in rows:
        share = "" if row.design.phase1_share is None else percent(row.design.phase1_share)
        guessed = "–" if row.pivot_guess is None else percent(row.pivot_guess)
        table.add_row(layout(row.design), share, f"± {number(row.points)} points", guessed)
    out.print(table)


def _say_needed(question: "Question", wanted: dict[str, Any]) -> str:
    from privtally.documents.plan import SMALLEST_EPSILON
    from privtally.lab.advise import MOST_EPSILON, MOST_PEOPLE

    people, epsilon = wanted["people"], wanted["epsilon"]
    if people is not None and people <= question.people and epsilon is not None and epsilon != SMALLEST_EPSILON:
        enough = f"{people:,} people at ε = {question.epsilon:g}, or ε = {epsilon:g} with {question.people:,} people"
        return f"± {wanted['percentage_points']:g} points are reached: {enough} would do."
    about = "more than" if people is None else "no more than" if people == 1 else "about"
    many = MOST_PEOPLE if people is None else people
    text = f"± {wanted['percentage_points']:g} points take {about} {many:,} {'person' if many == 1 else 'people'} "
    text += f"at ε = {question.epsilon:g}, or "
    if epsilon == SMALLEST_EPSILON:
        return f"{text}no answers at all: to take all answers for equally frequent is as good."
    budget = f"more than ε = {MOST_EPSILON:g}" if epsilon is None else f"ε = {epsilon:g}"
    return f"{text}{budget} with {question.people:,} people."
