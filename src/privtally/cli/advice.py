"""advise: which campaign to run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from privtally.cli.console import out, print_json, read_answers, write_picture
from privtally.cli.options import EpsilonOption, GuessOption, JsonFlag, SchemaOption, check_users
from privtally.errors import CampaignError
from privtally.names import MAX_PIVOT_GUESS

if TYPE_CHECKING:
    from privtally.lab.advise import Expected
    from privtally.lab.offers import Question


def advise(
    schema: SchemaOption,
    users: Annotated[int, Option(help="How many people will be asked.", callback=check_users)],
    epsilon: EpsilonOption,
    pilot: Annotated[Path | None, Option(help="Answers like those expected; a stated prior if not given.")] = None,
    max_pivot_guess: GuessOption = MAX_PIVOT_GUESS,
    want_error: Annotated[float | None, Option(help="Say how many people or which budget this error needs.")] = None,
    plot: Annotated[Path | None, Option(help="Also draw errors against the budget and the pivot's secrecy.")] = None,
    json: JsonFlag = False,
) -> None:
    """Recommend a campaign: what error to expect of every mechanism, and what a wanted error would take."""
    from privtally.documents.plan import check_epsilon
    from privtally.files import read_schema
    from privtally.lab.advise import Adviser, at_best_share, recommend
    from privtally.lab.expectation import PRIOR, pilot_population, prior_populations
    from privtally.lab.offers import Question
    from privtally.plots.advice import draw_advice
    from privtally.plots.estimate import check_picture_path

    check_epsilon(epsilon)
    for option, value in (("--max-pivot-guess", max_pivot_guess), ("--want-error", want_error)):
        if value is not None and not 0 < value <= 1:
            raise CampaignError(f"{option} must be above 0 and at most 1, got {value}")
    if plot is not None:
        check_picture_path(plot)
    the_schema = read_schema(schema)
    if pilot is None:
        populations = list(prior_populations(the_schema).values())
    else:
        populations = [pilot_population(read_answers(pilot, the_schema))]
    adviser = Adviser(the_schema, populations)
    question = Question(users, epsilon, max_pivot_guess)
    rows = adviser.expect(question)
    chosen, rows = recommend(rows, max_pivot_guess), at_best_share(rows)
    result: dict[str, Any] = {
        "recommendation": _sentence(chosen, rows),
        "mechanism": chosen.mechanism,
        "method": "pooled",
        "phase1_share": chosen.phase1_share,
        "expected_error": chosen.error,
        "expected": [row.body() for row in rows],
        "prior": PRIOR if pilot is None else "the pilot data",
    }
    if want_error is not None:
        people, budget = adviser.people_for(want_error, question), adviser.budget_for(want_error, question)
        result["wanted"] = {"error": want_error, "users": people, "epsilon": budget}
    if plot is not None:
        write_picture(draw_advice(adviser.by_budget(question), adviser.by_secrecy(question), epsilon), plot)
    if json:
        print_json(result)
        return
    _print_expected(rows)
    out.print(f"Populations: {result['prior']}.")
    out.print(result["recommendation"])
    if want_error is not None:
        out.print(_say_needed(question, result["wanted"]))


def _sentence(chosen: "Expected", rows: "list[Expected]") -> str:
    share = "" if chosen.phase1_share is None else f" with {chosen.phase1_share:.0%} of the people in Phase I"
    text = f"Run {chosen.mechanism}{share}: expect an error of {chosen.error:.4f}"
    known = min((row for row in rows if row.pivot_guess == 1), key=lambda row: row.error, default=chosen)
    if chosen.pivot_guess < 1 and known is not chosen:
        ratio = (chosen.error / known.error) ** 2
        cost = "nothing" if ratio <= 1 else f"about {ratio:.1f} times the people"
        text += f"; {known.mechanism}, which says which answer it gives, would have {known.error:.4f}: "
        text += f"hiding it costs {cost}"
    return text + "."


def _print_expected(rows: "list[Expected]") -> None:
    from rich.table import Column, Table

    numbers = (Column(name, justify="right") for name in ("Phase I", "error"))
    table = Table("mechanism", *numbers, title="Expected error of a frequency (root of the mean square)")
    for row in rows:
        share = "" if row.phase1_share is None else f"{row.phase1_share:.0%}"
        table.add_row(row.mechanism, share, f"{row.error:.4f}")
    out.print(table)


def _say_needed(question: "Question", wanted: dict[str, Any]) -> str:
    from privtally.documents.plan import SMALLEST_EPSILON
    from privtally.lab.advise import MOST_EPSILON, MOST_PEOPLE

    users, epsilon = wanted["users"], wanted["epsilon"]
    people = "more than" if users is None else "no more than" if users == 1 else "about"
    many = MOST_PEOPLE if users is None else users
    text = f"An error of {wanted['error']:g} takes {people} {many:,} {'person' if many == 1 else 'people'} "
    text += f"at ε = {question.epsilon:g}; with {question.users:,} people it takes "
    if epsilon is None:
        return f"{text}more than ε = {MOST_EPSILON:g}."
    if epsilon == SMALLEST_EPSILON:
        return f"{text}no answers at all: to take all labels for equally frequent is as good."
    return f"{text}about ε = {epsilon:g}."
