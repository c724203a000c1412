"""run, demo: every phase of a campaign at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Option

from privtally.cli import options
from privtally.cli.console import err, out, print_json, progress, read_answers, write_picture
from privtally.cli.options import EpsilonOption, JsonFlag, MechanismOption, MethodOption
from privtally.cli.stores import needing_the_extra
from privtally.names import MAX_PIVOT_GUESS, MechanismName, Method

if TYPE_CHECKING:
    from privtally.documents.estimate import Estimate
    from privtally.exact.source import Source
    from privtally.schema import Records


def run(
    context: typer.Context,
    data: options.DataArgument,
    schema: options.SchemaOption,
    epsilon: EpsilonOption,
    output: Annotated[Path, Option("--output", "-o", help="A new directory for every document of the job.")],
    mechanism: options.ChoiceOption = "auto",
    phase1_share: options.ShareOption = 0.1,
    rule: options.RuleOption = "robust",
    max_pivot_guess: options.BoundOption = None,
    observer: options.ObserverOption = "knows-nothing",
    method: MethodOption = "pooled",
    groups: options.GroupsOption = None,
    pivots: options.PivotsOption = 1,
    coarsen: options.CoarsenFlag = False,
    json: JsonFlag = False,
) -> None:
    """Do the whole job on one file: both phases, every document left in a directory."""
    from privtally.cli import words
    from privtally.cli.auto import recommended
    from privtally.cli.groups import after_phase1, print_after_phase1, read_groups
    from privtally.collector.learn import check_later_pivots, compare_groups
    from privtally.documents.plan import check_epsilon, design
    from privtally.exact.source import Stream
    from privtally.files import read_schema, write_whole_directory
    from privtally.job import run_campaign, write_job
    from privtally.lab.offers import Design
    from privtally.mechanisms import NAMED
    from privtally.mechanisms.coarsen import coarsened

    the_schema = coarsened(read_schema(schema)) if coarsen else read_schema(schema)
    chosen = None
    later: Literal["auto"] | None = None
    if mechanism == "auto":
        options.refuse_without_effect(context, ["groups", "pivots", "phase1_share", "rule", "observer"], options.AUTO)
        check_epsilon(epsilon)
    else:
        options.check_learning(context, mechanism, rule)
        learns = NAMED[mechanism].learns
        named, why = read_groups(groups, the_schema, epsilon, mechanism, pivots)
        later = "auto" if groups == "auto" and learns else None
        if why and not later:
            err.print(why, markup=False)
        check_later_pivots(mechanism, pivots)
        chosen = Design(mechanism, named, pivots, phase1_share)
        # Refuses before the data is read.
        design(the_schema, epsilon, mechanism, groups=named, pivots=1 if learns else pivots)
    with write_whole_directory(output) as directory:
        records = read_answers(data, the_schema)
        bound = MAX_PIVOT_GUESS if max_pivot_guess is None else max_pivot_guess
        chosen = chosen or recommended(the_schema, epsilon, len(records), bound)
        with err.status("Privatising and counting"):
            job = run_campaign(
                records,
                epsilon,
                source=Stream.from_system(),
                phase1_share=chosen.phase1_share or phase1_share,
                rule=rule,
                max_pivot_guess=max_pivot_guess,
                observer=observer,
                later_groups=later,
                **chosen.options,
            )
            result = job.estimate(method)
        with progress("Writing", len(records)) as advance:
            write_job(job, result, directory, advance)
    if json:
        print_json(result)
    else:
        words.print_estimate(result, out)
        out.print(f"Every document is in {output}.")
    for sentence in words.fewer_pivots(job.phases[-1].plan):
        err.print(sentence)
    if later:
        first, second = job.phases
        history, people = [(first.plan, first.counts)], second.counts.reports
        choice = compare_groups(history, rule=rule, people=people, max_pivot_guess=max_pivot_guess, observer=observer)
        print_after_phase1(after_phase1(choice, the_schema.names))


def demo(
    epsilon: EpsilonOption = 2.0,
    mechanism: MechanismOption = "corr-rr",
    method: MethodOption = "pooled",
    people: Annotated[int, Option(min=100, max=10_000_000, help="How many people to simulate.")] = 20_000,
    plot: Annotated[Path, Option(help="Where the picture goes.")] = Path("privtally-demo.png"),
    seed: Annotated[int | None, Option(help="Repeat the same simulation.")] = None,
    store: Annotated[
        str | None,
        Option(metavar="sqlite:///FILE", help="Let them answer over HTTP, to a service that keeps all of it here."),
    ] = None,
) -> None:
    """See it work: simulated people, a survey of four questions, both phases, truth against estimate."""
    from privtally.cli import words
    from privtally.exact.source import Stream
    from privtally.lab import survey
    from privtally.lab.seed import seeded
    from privtally.plots import estimate as picture

    if picture.available():
        picture.check_picture_path(plot)
    source = Stream.from_system() if seed is None else seeded(seed)
    records = survey.simulate(people, source)
    truth = records.frequencies()
    result = _collected(records, epsilon, mechanism, source, method, store)
    how = "" if store is None else " over HTTP"
    out.print(f"{people:,} simulated people answered four questions{how}.")
    out.print(f"Each report hides the answers behind ε = {epsilon:g}.")
    words.print_estimate(result, out, truth)
    if picture.available():
        write_picture(picture.draw(result, truth), plot)
    elif store is None:
        out.print(f"No picture: {picture.HOW_TO_INSTALL}.")
    if store is not None:
        out.print(f"The service has stopped; its store is kept: {store}")


def _collected(
    records: "Records", epsilon: float, mechanism: MechanismName, source: "Source", method: Method, store: str | None
) -> "Estimate":
    """What the records' reports say, collected in this process or by a service on a store."""
    if store is None:
        from privtally.job import run_campaign

        return run_campaign(records, epsilon, mechanism, source).estimate(method)
    with needing_the_extra():
        from privtally.cli import over_http

    with over_http.service(store) as site, progress("Answering", len(records)) as advance:
        return over_http.run_campaign(site, records, epsilon, mechanism, source, method=method, advance=advance)
