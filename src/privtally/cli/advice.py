"""advise: which campaign to run."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privtally.cli.console import busy, err, file_size, out, print_json, progress
from privtally.cli.options import EpsilonOption, GuessOption, JsonFlag, SeedOption, WorkersOption
from privtally.errors import CampaignError

if TYPE_CHECKING:
    from privtally.lab.advise import Expected, Question
    from privtally.names import MechanismName
    from privtally.schema import Records


def advise(
    schema: Annotated[Path, typer.Option("--schema", "-s", help="A schema in .toml or .json.")],
    users: Annotated[int, typer.Option("--users", help="How many people will be asked.")],
    epsilon: EpsilonOption,
    pilot: Annotated[
        Path | None, typer.Option("--pilot", help="Answers like those expected; a stated prior if not given.")
    ] = None,
    max_pivot_guess: GuessOption = 0.5,
    want_error: Annotated[
        float | None, typer.Option("--want-error", help="Say how many people or which budget this error needs.")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", help="How many campaigns of each kind to simulate.")] = 4,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Also draw errors against the budget and the pivot's secrecy.")
    ] = None,
    seed: SeedOption = 1,
    workers: WorkersOption = 0,
    json: JsonFlag = False,
) -> None:
    """Recommend a campaign: what error to expect of every mechanism, and what a wanted error would take."""
    from privtally import picture
    from privtally.files import read_schema, write_bytes
    from privtally.lab import advise as lab
    from privtally.lab.drawing import draw_advice
    from privtally.plan import check_epsilon
    from privtally.table import open_table

    check_epsilon(epsilon)
    for name, value in (("--users", users), ("--runs", runs)):
        if value < 1:
            raise CampaignError(f"{name} must be at least 1, got {value}")
    if not 0 < max_pivot_guess <= 1:
        raise CampaignError(f"--max-pivot-guess must be above 0 and at most 1, got {max_pivot_guess}")
    if want_error is not None and not want_error > 0:
        raise CampaignError(f"--want-error must be above 0, got {want_error}")
    if plot is not None:
        picture.check_picture_path(plot)
    the_schema = read_schema(schema)
    if pilot is None:
        people = lab.populations(the_schema, seed)
    else:
        with open_table(pilot, the_schema) as table, progress("Reading", file_size(pilot)) as advance:
            people = [table.read_all(advance)]
    question = lab.Question(users, epsilon, max_pivot_guess, runs, seed)
    cores = workers or os.cpu_count() or 1
    with progress("Simulating", len(lab.attempts(people[0], question)) * len(people)) as advance:
        rows = lab.expect(people, question, workers=cores, advance=advance)
    chosen = lab.recommend(rows, question)
    result: dict[str, Any] = {
        "recommendation": _sentence(chosen, rows, question),
        "mechanism": chosen.mechanism,
        "method": chosen.method,
        "phase1_share": chosen.phase1_share,
        "expected_error": chosen.error,
        "expected": [row.body() for row in rows],
        "prior": lab.PRIOR if pilot is None else "the pilot data",
    }
    if want_error is not None:
        with busy("Searching"):
            needed = lab.needed(people, question, chosen, want_error, workers=cores)
        result["wanted"] = {"error": want_error, "users": needed[0], "epsilon": needed[1]}
    if plot is not None:
        with busy("Drawing"):
            figure = draw_advice(*_curves(people, question, cores), question.epsilon)
            write_bytes(plot, picture.render(figure, plot))
        err.print(f"Written: {plot}")
    if json:
        print_json(result)
        return
    _print_expected(rows)
    out.print(f"Over {result['prior']}." if pilot is None else "Over the pilot data.")
    out.print(result["recommendation"])
    if want_error is not None:
        out.print(_say_needed(question, want_error, *needed))


def _sentence(chosen: "Expected", rows: "list[Expected]", question: "Question") -> str:
    share = "" if chosen.phase1_share is None else f" with {chosen.phase1_share:.0%} of the people in Phase I"
    text = f"Run {chosen.mechanism}{share} and estimate by '{chosen.method}': expect an error of {chosen.error:.4f}"
    open_one = next((row for row in rows if row.mechanism == "smp" and row.method == "pooled"), None)
    if question.max_pivot_guess < 1 and open_one is not None:
        ratio = (chosen.error / open_one.error) ** 2
        text += (
            f"; smp, which says which answer it gives, would have {open_one.error:.4f}: hiding it costs "
            f"{ratio:.1f} times the people"
        )
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


def _say_needed(question: "Question", wanted: float, users: int | None, epsilon: float | None) -> str:
    people = "no number of people up to a million" if users is None else f"about {users:,} people"
    budget = "no budget up to 16" if epsilon is None else f"about ε = {epsilon:g}"
    return (
        f"An error of {wanted:g} takes {people} at ε = {question.epsilon:g}, "
        f"or {budget} with {question.users:,} people."
    )


def _curves(
    people: "list[Records]", question: "Question", workers: int
) -> "tuple[dict[str, list[tuple[float, float]]], dict[str, list[tuple[float, float]]]]":
    """Pooled errors of each mechanism against the budget, and of Corr-RR and SMP against the pivot's secrecy."""
    from dataclasses import replace

    from privtally.lab import advise as lab

    def pooled(asked: "Question", mechanisms: "tuple[MechanismName, ...]") -> "dict[str, float]":
        rows = lab.expect(
            people, asked, mechanisms=mechanisms, methods=["pooled"], workers=workers, advance=lambda _: None
        )
        return {row.mechanism: row.error for row in rows}

    by_budget: dict[str, list[tuple[float, float]]] = {}
    for factor in (0.25, 0.5, 1.0, 2.0, 4.0):
        budget = min(question.epsilon * factor, lab.MOST_EPSILON)
        for mechanism, error in pooled(replace(question, epsilon=budget), (*lab.HIDDEN, "smp")).items():
            by_budget.setdefault(mechanism, []).append((budget, error))
    attributes = len(people[0].schema.attributes)
    by_secrecy: dict[str, list[tuple[float, float]]] = {}
    if lab.fits(people[0], question, "corr-rr"):
        for guess in sorted({1 / attributes, *(g for g in (0.3, 0.5, 0.7, 0.85, 1.0) if g > 1 / attributes)}):
            asked = replace(question, max_pivot_guess=guess)
            by_secrecy.setdefault("corr-rr", []).append((guess, pooled(asked, ("corr-rr",))["corr-rr"]))
    for mechanism, guess in (("spl", 1 / attributes), ("rs-fd", 1 / attributes), ("smp", 1.0)):
        if mechanism in by_budget:
            error = next(error for budget, error in by_budget[mechanism] if budget == question.epsilon)
            by_secrecy[mechanism] = [(guess, error)]
    return by_budget, by_secrecy
