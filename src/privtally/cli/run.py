"""run, demo: a whole campaign on a table of answers, and on simulated people."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from privtally.cli import options
from privtally.cli.console import err, out, print_json, progress, read_answers, write_picture
from privtally.cli.options import EpsilonOption, JsonFlag, MechanismOption, MethodOption, within
from privtally.cli.service import needing_the_extra
from privtally.names import HIDE_AMONG, MechanismName, Method

if TYPE_CHECKING:
    from privtally.campaign import Result
    from privtally.documents.estimate import Estimate
    from privtally.exact.randomness import Source
    from privtally.schema import Records


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
    together: options.TogetherOption = None,
    single: options.SingleOption = None,
    pairs_of: options.PairsOfOption = None,
    coarsen: options.CoarsenFlag = False,
    json: JsonFlag = False,
) -> None:
    """Make the answers in a file private, count them and estimate the share of every answer.

    Where the mechanism learns, a random share of the rows is the first phase and all others are the second. Without
    --output no file is written.
    """
    from privtally.campaign import run, write_job
    from privtally.cli import render
    from privtally.collector.summaries import top as most_frequent
    from privtally.files import check_output, read_schema, write_whole_directory
    from privtally.mechanisms.named import coarsened
    from privtally.plots import estimate as picture

    path = schema or options.find_schema(data)
    the_schema = coarsened(read_schema(path)) if coarsen else read_schema(path)
    check_output(plot, [data, path])
    among = options.read_hide_among(hide_among)
    asked = {"groups": groups, "pivots": pivots, "decoys": decoys, "rule": rule, "phase1_share": phase1_share}
    jointly = {"together": together, "single": single, "pairs_of": pairs_of}
    asking = options.read_asking(context, the_schema, epsilon, mechanism, **asked, **jointly)
    with ExitStack() as stack:
        directory = None if output is None else stack.enter_context(write_whole_directory(output))
        records = read_answers(data, the_schema)
        if asking is None:
            asking = render.recommended(the_schema, epsilon, len(records), hide_among=among).design
        with err.status("Privatising and counting"):
            result: Result = run(records, the_schema, epsilon, method=method, **asking.keywords)
            job, estimate = result.job, result.estimate
            shown = estimate if top is None else most_frequent(estimate, job.estimate("unbiased"), top)
        if directory is not None:
            with progress("Writing", len(records)) as advance:
                write_job(job, estimate, directory, advance)
    if plot is not None:
        write_picture(picture.draw(shown), plot)
    if json:
        print_json(shown)
    else:
        render.describe(shown, out)
        out.print(render.surer(epsilon))
        if output is not None:
            out.print(f"Every document is in {output}.")
    for sentence in (*render.fewer_pivots(job.phases[-1].plan), *render.unmatched(job.phases[0].plan)):
        err.print(sentence, markup=False)


def demo(
    epsilon: EpsilonOption = 2.0,
    mechanism: MechanismOption = "corr-rr",
    method: MethodOption = "likelihood",
    people: Annotated[
        int, Option(metavar="N", help="How many people to simulate.", callback=within(100, 10_000_000))
    ] = 20_000,
    plot: Annotated[Path, Option(metavar="FILE", help="Where the picture goes.")] = Path("privtally-demo.png"),
    seed: Annotated[int | None, Option(metavar="N", help="Repeat the same simulation.")] = None,
    store: Annotated[
        str | None,
        Option(metavar="sqlite:///FILE", help="Let them answer over HTTP, to a service that keeps everything here."),
    ] = None,
) -> None:
    """See it work: simulated people answer four questions, and estimates stand beside the truth.

    With --store a service keeps what they sent, and the administrator's token of a store that is there already stays.
    privtally serve --new-token --store with the same address shows it in a browser. That needs the extra serve.
    """
    from privtally.cli import render
    from privtally.exact.randomness import Stream
    from privtally.lab import population
    from privtally.lab.population import seeded
    from privtally.plots import estimate as picture

    if picture.available():
        picture.check_drawing(plot)
    source = Stream.from_system() if seed is None else seeded(seed)
    records = population.simulate(people, source)
    truth = records.frequencies()
    result = _collected(records, epsilon, mechanism, source, method, store)
    how = "" if store is None else " over HTTP"
    out.print(f"{people:,} simulated people answered four questions{how}.")
    render.print_estimate(result, out, truth)
    out.print(render.surer(epsilon))
    if picture.available():
        write_picture(picture.draw(result, truth), plot)
    elif store is None:
        out.print(f"No picture: {picture.HOW_TO_INSTALL}.")
    if store is not None:
        kept = store if store.startswith("sqlite:") else "the PostgreSQL database"  # its address may hold a password
        out.print(f"The service has stopped; its store is kept: {kept}")


def _collected(
    records: "Records", epsilon: float, mechanism: MechanismName, source: "Source", method: Method, store: str | None
) -> "Estimate":
    """What the records' reports say, collected in this process or by a service on a store."""
    if store is None:
        from privtally.campaign import run

        return run(records, records.schema, epsilon, mechanism=mechanism, method=method, source=source).estimate
    with needing_the_extra():
        from privtally.cli import over_http

    with progress("Answering", len(records)) as advance:
        return over_http.run_campaign(store, records, epsilon, mechanism, source, method=method, advance=advance)
