"""run: every phase of a campaign at once."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from privtally.cli import options
from privtally.cli.console import err, out, print_json, progress, read_answers, write_picture
from privtally.cli.options import JsonFlag, MethodOption
from privtally.names import HIDE_AMONG, MechanismChoice, with_effect

if TYPE_CHECKING:
    from privtally.lab.advise import Design
    from privtally.schema import Schema


def run(
    context: typer.Context,
    data: options.DataArgument,
    schema: options.FoundSchemaOption = None,
    epsilon: options.EpsilonOption = 1.0,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Also keep plans, private reports, counts and estimate in this new directory.",
        ),
    ] = None,
    plot: options.PlotOption = None,
    top: options.TopOption = None,
    mechanism: options.ChoiceOption = "auto",
    hide_among: options.HideOption = str(HIDE_AMONG),
    method: MethodOption = "likelihood",
    phase1_share: options.ShareOrAutoOption = 0.1,
    rule: options.RuleOption = "robust",
    groups: options.GroupsOption = None,
    pivots: options.PivotsOption = 1,
    decoys: options.DecoysOption = None,
    coarsen: options.CoarsenFlag = False,
    json: JsonFlag = False,
) -> None:
    """Make the answers in a file private, count them and estimate the share of every answer.

    Where the mechanism learns, a random share of the rows is the first phase and all others are the second. Without
    --output no file is written.
    """
    from privtally.cli import words
    from privtally.cli.auto import recommended
    from privtally.cli.numbers import surer
    from privtally.cli.schemas import find_schema
    from privtally.collector.top import top as most_frequent
    from privtally.exact.source import Stream
    from privtally.files import check_output, read_schema, write_whole_directory
    from privtally.job import run_campaign, write_job
    from privtally.mechanisms import NAMED
    from privtally.mechanisms.coarsen import coarsened
    from privtally.plots import estimate as picture

    path = schema or find_schema(data, notice=err.print)
    the_schema = coarsened(read_schema(path)) if coarsen else read_schema(path)
    if plot is not None:
        picture.check_picture_path(plot)
        check_output(plot, [data, path])
    among = options.read_hide_among(hide_among)
    chosen = _named(context, the_schema, epsilon, mechanism, groups, pivots, decoys)
    learns = chosen is not None and NAMED[chosen.mechanism].learns
    with ExitStack() as stack:
        directory = None if output is None else stack.enter_context(write_whole_directory(output))
        records = read_answers(data, the_schema)
        chosen = chosen or recommended(the_schema, epsilon, len(records), hide_among=among).design
        learning = with_effect(chosen.mechanism, {"rule": rule})
        share = phase1_share if learns else None
        with err.status("Privatising and counting"):
            job = run_campaign(
                records, epsilon, source=Stream.from_system(), phase1_share=share, **learning, **chosen.options
            )
            result = job.estimate(method)
            shown = result if top is None else most_frequent(result, job.estimate("unbiased"), top)
        if directory is not None:
            with progress("Writing", len(records)) as advance:
                write_job(job, result, directory, advance)
    if plot is not None:
        write_picture(picture.draw(shown), plot)
    if json:
        print_json(shown)
    else:
        words.describe(shown, out)
        out.print(surer(epsilon))
        if output is not None:
            out.print(f"Every document is in {output}.")
    for sentence in (*words.fewer_pivots(job.phases[-1].plan), *words.unmatched(job.phases[0].plan)):
        err.print(sentence, markup=False)


def _named(
    context: typer.Context,
    schema: "Schema",
    epsilon: float,
    mechanism: MechanismChoice,
    groups: str | None,
    pivots: int,
    decoys: int | None,
) -> "Design | None":
    """The campaign that the options name, refused before the data is read; None if privtally shall choose."""
    from privtally.cli.groups import read_groups
    from privtally.collector.learn import check_later_pivots
    from privtally.documents.plan import check_epsilon, design
    from privtally.lab.advise import Design
    from privtally.mechanisms import NAMED

    if mechanism == "auto":
        options.refuse_without_effect(context, ["groups", "pivots", "decoys", "phase1_share", "rule"], options.AUTO)
        check_epsilon(epsilon)
        return None
    options.refuse_without_effect(context, ["hide_among"], f"with {mechanism}; --decoys says what a report shows")
    options.check_learning(context, mechanism)
    learns = NAMED[mechanism].learns
    named, why = read_groups(groups, schema, epsilon, mechanism, pivots, decoys)
    if why:
        err.print(why, markup=False)
    check_later_pivots(mechanism, pivots)
    design(schema, epsilon, mechanism, groups=named, pivots=1 if learns else pivots, decoys=decoys)
    return Design(mechanism, named, pivots, decoys)
