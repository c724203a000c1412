"""run, demo: every phase of a campaign at once."""

from pathlib import Path
from typing import Annotated

import typer

from privtally.cli.console import busy, err, file_size, out, print_json, progress
from privtally.cli.options import (
    DataArgument,
    EpsilonOption,
    GuessOption,
    JsonFlag,
    MechanismOption,
    MethodOption,
    RuleOption,
    ShareOption,
    check_learning_options,
)
from privtally.names import MAX_PIVOT_GUESS

MOST_SIMULATED = 10_000_000


def run(
    context: typer.Context,
    data: DataArgument,
    schema: Annotated[Path, typer.Option("--schema", "-s", help="A schema in .toml or .json.")],
    epsilon: EpsilonOption,
    mechanism: MechanismOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="A new directory for every document of the job.")],
    phase1_share: ShareOption = 0.1,
    rule: RuleOption = "robust",
    max_pivot_guess: GuessOption = MAX_PIVOT_GUESS,
    method: MethodOption = "pooled",
    json: JsonFlag = False,
) -> None:
    """Do the whole job on one file: both phases, every document left in a directory."""
    from privtally.cli import words
    from privtally.documents.plan import design
    from privtally.exact.source import Stream
    from privtally.files import read_schema, write_whole_directory
    from privtally.job import run_campaign, write_job
    from privtally.tables.csv_table import open_table

    check_learning_options(context, mechanism, rule)
    the_schema = read_schema(schema)
    design(the_schema, epsilon, mechanism)  # refuses before the data is read
    with open_table(data, the_schema) as table, write_whole_directory(output) as directory:
        if table.ignored:
            err.print(table.say_ignored())
        with progress("Reading", file_size(data)) as advance:
            records = table.read_all(advance)
        with busy("Privatising and counting"):
            source = Stream.from_system()
            job = run_campaign(
                records,
                epsilon,
                mechanism,
                source,
                phase1_share=phase1_share,
                rule=rule,
                max_pivot_guess=max_pivot_guess,
            )
            result = job.estimate(method)
        with progress("Writing", len(records)) as advance:
            write_job(job, result, directory, advance)
    if json:
        print_json(result)
    else:
        words.print_estimate(result, out)
        out.print(f"Every document is in {output}.")


def demo(
    epsilon: EpsilonOption = 2.0,
    mechanism: MechanismOption = "corr-rr",
    method: MethodOption = "pooled",
    people: Annotated[
        int, typer.Option("--people", min=100, max=MOST_SIMULATED, help="How many people to simulate.")
    ] = 20_000,
    plot: Annotated[Path, typer.Option("--plot", help="Where the picture goes.")] = Path("privtally-demo.png"),
    seed: Annotated[int | None, typer.Option("--seed", help="Repeat the same simulation.")] = None,
) -> None:
    """See it work: simulated people, a survey of four questions, both phases, truth against estimate."""
    from privtally.cli import words
    from privtally.exact.source import Stream
    from privtally.files import write_bytes
    from privtally.job import run_campaign
    from privtally.lab import survey
    from privtally.lab.seed import seeded
    from privtally.plots import estimate as picture

    can_draw = picture.available()
    if can_draw:
        picture.check_picture_path(plot)
    source = Stream.from_system() if seed is None else seeded(seed)
    records = survey.simulate(people, source)
    job = run_campaign(records, epsilon, mechanism, source)
    result = job.estimate(method)
    truth = records.frequencies()
    out.print(
        f"{people:,} simulated people answered four questions; each report hides the answers behind ε = {epsilon:g}."
    )
    words.print_estimate(result, out, truth)
    if can_draw:
        write_bytes(plot, picture.render(picture.draw(result, truth), plot))
        out.print(f"Picture: {plot}")
    else:
        out.print(f"No picture: {picture.HOW_TO_INSTALL}.")
