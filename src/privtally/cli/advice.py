"""advise: which campaign to run."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privtally.cli.console import busy, err, file_size, out, print_json, progress
from privtally.cli.options import (
    MOST_RUNS,
    MOST_USERS,
    MOST_WORKERS,
    EpsilonOption,
    GuessOption,
    JsonFlag,
    SeedOption,
    WorkersOption,
    check_range,
)
from privtally.errors import CampaignError
from privtally.names import MAX_PIVOT_GUESS

if TYPE_CHECKING:
    from privtally.lab.expectation import Expected, Question


def advise(
    schema: Annotated[Path, typer.Option("--schema", "-s", help="A schema in .toml or .json.")],
    users: Annotated[int, typer.Option("--users", help="How many people will be asked.")],
    epsilon: EpsilonOption,
    pilot: Annotated[
        Path | None, typer.Option("--pilot", help="Answers like those expected; a stated prior if not given.")
    ] = None,
    max_pivot_guess: GuessOption = MAX_PIVOT_GUESS,
    want_error: Annotated[
        float | None, typer.Option("--want-error", help="Say how many people or which budget this error needs.")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", help="How many campaigns of each kind to simulate, at least.")] = 4,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Also draw errors against the budget and the pivot's secrecy.")
    ] = None,
    seed: SeedOption = 1,
    workers: WorkersOption = 0,
    json: JsonFlag = False,
) -> None:
    """Recommend a campaign: what error to expect of every mechanism, and what a wanted error would take."""
    from privtally.documents.plan import check_epsilon
    from privtally.files import read_schema, write_bytes
    from privtally.lab import advise as lab
    from privtally.lab.expectation import Expectation, Question, at_best_share
    from privtally.lab.prior import PRIOR, populations
    from privtally.plots import estimate as picture
    from privtally.plots.advice import draw_advice
    from privtally.tables.csv_table import open_table

    check_epsilon(epsilon)
    check_range("--users", users, 1, MOST_USERS)
    check_range("--runs", runs, 1, MOST_RUNS)
    check_range("--workers", workers, 0, MOST_WORKERS)
    if not 0 < max_pivot_guess <= 1:
        raise CampaignError(f"--max-pivot-guess must be above 0 and at most 1, got {max_pivot_guess}")
    if want_error is not None and not want_error > 0:
        raise CampaignError(f"--want-error must be above 0, got {want_error}")
    if plot is not None:
        picture.check_picture_path(plot)
    the_schema = read_schema(schema)
    if pilot is None:
        people = populations(the_schema, seed)
    else:
        with open_table(pilot, the_schema) as table, progress("Reading", file_size(pilot)) as advance:
            people = [table.read_all(advance)]
    question = Question(users, epsilon, max_pivot_guess, runs, seed)
    cores = workers or os.cpu_count() or 1
    expectation = Expectation(people, question)
    with progress("Simulating", expectation.steps) as advance:
        rows = expectation.rows(cores, advance)
    chosen = lab.recommend(rows, question)
    rows = at_best_share(rows)
    result: dict[str, Any] = {
        "recommendation": _sentence(chosen, rows, question),
        "mechanism": chosen.mechanism,
        "method": chosen.method,
        "phase1_share": chosen.phase1_share,
        "expected_error": chosen.error,
        "expected": [row.body() for row in rows],
        "prior": PRIOR if pilot is None else "the pilot data",
    }
    if want_error is not None:
        with busy("Searching"):
            needed = lab.needed(people, question, want_error, workers=cores)
        result["wanted"] = {"error": want_error, "users": needed[0], "epsilon": needed[1]}
    if plot is not None:
        with busy("Drawing"):
            figure = draw_advice(
                lab.by_budget(people, question, cores), lab.by_secrecy(people, question, cores), question.epsilon
            )
            write_bytes(plot, picture.render(figure, plot))
        err.print(f"Written: {plot}")
    if json:
        print_json(result)
        return
    _print_expected(rows)
    out.print(f"Over {result['prior']}." if pilot is None else "Over the pilot data.")
    out.print(result["recommendation"])
    if want_error is not None:
        tried = max(lab.MOST_PEOPLE, users), max(lab.MOST_EPSILON, epsilon)
        out.print(_say_needed(question, want_error, needed, tried))


def _sentence(chosen: "Expected", rows: "list[Expected]", question: "Question") -> str:
    share = "" if chosen.phase1_share is None else f" with {chosen.phase1_share:.0%} of the people in Phase I"
    text = f"Run {chosen.mechanism}{share} and estimate by '{chosen.method}': expect an error of {chosen.error:.4f}"
    open_one = next((row for row in rows if row.mechanism == "smp" and row.method == "pooled"), None)
    if question.max_pivot_guess < 1 and open_one is not None:
        ratio = (chosen.error / open_one.error) ** 2
        cost = "nothing" if ratio <= 1 else f"about {ratio:.1f} times the people"
        text += f"; smp, which says which answer it gives, would have {open_one.error:.4f}: hiding it costs {cost}"
    return text + "."


def _print_expected(rows: "list[Expected]") -> None:
    from rich.table import Table

    table = Table("mechanism", "method", title="Expected error of a frequency (root of the mean square)")
    table.add_column("Phase I", justify="right")
    table.add_column("error", justify="right")
    for row in rows:
        share = "" if row.phase1_share is None else f"{row.phase1_share:.0%}"
        table.add_row(row.mechanism, row.method, share, f"{row.error:.4f}")
    out.print(table)


def _say_needed(
    question: "Question", wanted: float, needed: tuple[int | None, float | None], tried: tuple[int, float]
) -> str:
    users, epsilon = needed
    people = f"more than {tried[0]:,} people" if users is None else f"about {users:,} people"
    budget = f"more than ε = {tried[1]:g}" if epsilon is None else f"about ε = {epsilon:g}"
    return (
        f"An error of {wanted:g} takes {people} at ε = {question.epsilon:g}, "
        f"or {budget} with {question.users:,} people."
    )
