"""run: every phase of a campaign at once."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from privtally.cli import options
from privtally.cli.console import err, out, print_json, progress, read_answers, write_picture
from privtally.cli.options import JsonFlag, MethodOption
from privtally.names import MAX_PIVOT_GUESS, MechanismChoice, Rule, with_effect

if TYPE_CHECKING:
    from privtally.job import Job
    from privtally.lab.offers import Design
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
    method: MethodOption = "pooled",
    phase1_share: options.ShareOrAutoOption = 0.1,
    rule: options.RuleOption = "robust",
    max_pivot_guess: options.BoundOption = None,
    observer: options.ObserverOption = "knows-nothing",
    groups: options.GroupsOption = None,
    pivots: options.PivotsOption = 1,
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
    from privtally.mechanisms.coarsen import coarsened
    from privtally.plots import estimate as picture

    path = schema or find_schema(data, notice=err.print)
    the_schema = coarsened(read_schema(path)) if coarsen else read_schema(path)
    if plot is not None:
        picture.check_picture_path(plot)
        check_output(plot, [data, path])
    chosen = _named(context, the_schema, epsilon, mechanism, rule, groups, pivots, phase1_share)
    learns = chosen is not None and chosen.phase1_share is not None
    later: Literal["auto"] | None = "auto" if learns and groups == "auto" else None
    with ExitStack() as stack:
        directory = None if output is None else stack.enter_context(write_whole_directory(output))
        records = read_answers(data, the_schema)
        bound = MAX_PIVOT_GUESS if max_pivot_guess is None else max_pivot_guess
        chosen = chosen or recommended(the_schema, epsilon, len(records), bound)
        wanted = {"rule": rule, "max_pivot_guess": max_pivot_guess, "observer": observer}
        learning = with_effect(chosen.mechanism, rule, wanted)
        with err.status("Privatising and counting"):
            job = run_campaign(
                records,
                epsilon,
                source=Stream.from_system(),
                later_groups=later,
                **learning,
                **chosen.campaign_options,
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
    _say_more(job, the_schema, later, learning)


def _named(
    context: typer.Context,
    schema: "Schema",
    epsilon: float,
    mechanism: MechanismChoice,
    rule: Rule,
    groups: str | None,
    pivots: int,
    phase1_share: float,
) -> "Design | None":
    """The campaign that the options name, refused before the data is read; None if privtally shall choose."""
    from privtally.cli.groups import read_groups
    from privtally.collector.learn import check_later_pivots
    from privtally.documents.plan import check_epsilon, design
    from privtally.lab.offers import Design
    from privtally.mechanisms import NAMED

    if mechanism == "auto":
        options.refuse_without_effect(context, ["groups", "pivots", "phase1_share", "rule", "observer"], options.AUTO)
        check_epsilon(epsilon)
        return None
    options.check_learning(context, mechanism, rule)
    learns = NAMED[mechanism].learns
    named, why = read_groups(groups, schema, epsilon, mechanism, pivots)
    if why and not learns:
        err.print(why, markup=False)
    check_later_pivots(mechanism, pivots)
    design(schema, epsilon, mechanism, groups=named, pivots=1 if learns else pivots)
    return Design(mechanism, named, pivots, phase1_share if learns else None)


def _say_more(job: "Job", schema: "Schema", later: Literal["auto"] | None, how: dict[str, Any]) -> None:
    """What there is to say about the plan of the second phase."""
    from privtally.cli import words
    from privtally.cli.groups import after_phase1, print_after_phase1
    from privtally.collector.learn import compare_groups

    for sentence in words.fewer_pivots(job.phases[-1].plan):
        err.print(sentence)
    if later:
        first, second = job.phases
        choice = compare_groups([(first.plan, first.counts)], people=second.counts.reports, **how)
        print_after_phase1(after_phase1(choice, schema.names))
