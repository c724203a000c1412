"""design, learn, refresh, privatise, tally, merge, estimate, show: the steps from a table of answers to its totals."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from privtally.cli import options
from privtally.cli.console import announce, beside, err, json_bytes, out, print_json, progress
from privtally.cli.options import (
    EpsilonOption,
    JsonFlag,
    MethodOption,
    PhaseOption,
    PlanOption,
    PlotOption,
    RuleOption,
    TopOption,
    check_people,
    refuse_without_effect,
)
from privtally.errors import DocumentError, PlanError
from privtally.names import HIDE_AMONG, EngineName

if TYPE_CHECKING:
    from privtally.collector.pairs import PairEstimate, PairEstimates
    from privtally.collector.summaries import TopEstimate
    from privtally.documents.estimate import Estimate
    from privtally.documents.plan import Plan


def design(
    context: typer.Context,
    schema: options.SchemaArgument,
    epsilon: EpsilonOption,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where the plan goes.")],
    mechanism: options.ChoiceOption = "auto",
    people: Annotated[
        int | None,
        Option(metavar="N", help="How many people will be asked in all, for --mechanism auto.", callback=check_people),
    ] = None,
    hide_among: options.HideOption = str(HIDE_AMONG),
    answers: options.AnswersOption = 1,
    groups: options.GroupsOption = None,
    pivots: options.PivotsOption = 1,
    decoys: options.DecoysOption = None,
    priors: options.PriorsOption = None,
    together: options.TogetherOption = None,
    single: options.SingleOption = None,
    pairs_of: options.PairsOfOption = None,
    coarsen: options.CoarsenFlag = False,
    force: options.ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Write the plan of the first phase: the rules by which answers become private.

    With --mechanism auto say with --people how many people will be asked in all; the choice is that of advise. Corr-rr
    copies between questions with the same answers, an alignment in the schema, or answers with an order. It has groups
    from the second phase on, like rs-rfd and cond-rr.
    """
    from privtally.cli.render import recommended
    from privtally.files import check_new, check_output, read_schema
    from privtally.mechanisms.named import coarsened

    check_output(output, [schema] if priors is None else [schema, priors])
    check_new(output, force=force)
    the_schema = coarsened(read_schema(schema)) if coarsen else read_schema(schema)
    if mechanism != "auto":
        refuse_without_effect(context, ["people"], f"with {mechanism} in a first plan")
    asked = {"groups": groups, "pivots": pivots, "decoys": decoys}
    others = {"together": together, "single": single, "pairs_of": pairs_of, "priors": priors}
    asking = options.read_asking(context, the_schema, epsilon, mechanism, **asked, **others)
    if asking is None:
        among = options.read_hide_among(hide_among)
        asking = recommended(the_schema, epsilon, options.check_people_said(people), hide_among=among).design
    elif asking.learning.pivots > 1:
        raise PlanError("--pivots of later phases are what learn takes; leave them out of the first plan")
    _write_plan(asking.first_plan(the_schema, epsilon, answers=answers), output, json=json)


def learn(
    context: typer.Context,
    phase: PhaseOption,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where the next plan goes.")],
    rule: RuleOption = "robust",
    people: Annotated[
        int | None,
        Option(metavar="N", help="How many people the second phase will ask; nine times the first's if not given."),
    ] = None,
    groups: Annotated[
        str | None,
        Option(
            metavar="A,B;C,D",
            help="Other groups of questions than the last plan's; auto chooses them, correlation:T puts those together "
            "whose association in the reports so far is above T.",
        ),
    ] = None,
    pivots: options.PivotsOption = 1,
    force: options.ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Write the plan of the second phase, learned from what the first one counted.

    Only rs-rfd, corr-rr and cond-rr learn. Cond-rr answers fewer questions a report than --pivots says where the
    reports so far cannot support more, and says so. How often a report gives away which question it answers is what
    audit says.
    """
    from privtally.collector.learn import check_learns, learn
    from privtally.files import check_new, check_output, read_history

    check_output(output, phase)
    check_new(output, force=force)
    history = read_history(phase)
    first = history[0][0]
    check_learns(first)
    options.check_learning(context, first.name)
    by_correlation = groups is not None and groups.startswith("correlation:")
    named: Sequence[Sequence[str]] | str | None = groups
    if groups is not None and not by_correlation:
        named = options.read_groups(groups, first.schema, first.epsilon, first.name, pivots)
    the_rule = rule if options.given(context, ["rule"]) else None
    with err.status("Learning"):
        plan = learn(history, people=people, groups=named, pivots=pivots, rule=the_rule)
    if by_correlation:
        chosen = [[plan.schema.names[own] for own in part.attributes] for part in plan.parts]
        err.print(f"Chose {options.say_groups(chosen, plan.epsilon)}.", markup=False)
    _write_plan(plan, output, json=json)
    if people is None and plan.learned is not None and plan.learned.people is not None:
        err.print(f"Assumed {plan.learned.people:,} people in phase {plan.phase}; say how many with --people.")


def refresh(
    plans: Annotated[list[Path], Argument(metavar="PLAN…", help="All plans of the campaign so far.")],
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where the plan goes.")],
    force: options.ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Write a plan to ask again later: it asks as the campaign's first plan did."""
    from privtally.documents.campaign import refresh
    from privtally.files import check_new, check_output, read_plan

    check_output(output, plans)
    check_new(output, force=force)
    _write_plan(refresh([read_plan(path) for path in plans]), output, json=json)


def show(
    file: Annotated[Path, Argument(metavar="FILE", help="A plan, counts or an estimate.")], json: JsonFlag = False
) -> None:
    """Say in words what a plan, counts or an estimate holds."""
    from privtally.cli import render
    from privtally.files import read_document

    document = read_document(file)
    if json:
        print_json(render.summary(document))
    else:
        render.describe(document, out)


def _write_plan(plan: "Plan", output: Path, *, json: bool) -> None:
    from privtally.cli import render
    from privtally.files import write_bytes

    write_bytes(output, plan.dump())
    lines = [f"{output}: {render.headline(plan)}", *render.learned(plan)]
    announce(output, render.summary(plan), "\n".join(lines), json=json)
    for sentence in render.unmatched(plan):
        err.print(sentence, markup=False)


EngineOption = Annotated[
    EngineName,
    Option(
        metavar="NAME",
        help="What computes: duckdb (here) or spark (the extra of this name; privatise writes a directory).",
    ),
]
MasterOption = Annotated[
    str | None,
    Option(metavar="URL", help="With --engine spark: the cluster's master, as spark://HOST:7077."),
]


def privatise_on_spark(
    data: Sequence[Path], plan: "Plan", output: Path, master: str | None, *, codes: bool, json: bool
) -> None:
    """Let Spark's workers privatise files of answers, into a new directory."""
    from privtally.tables.database import say_ignored
    from privtally.tables.spark import privatise_files

    with err.status("Privatising"):
        done = privatise_files(plan, data, output, master=master, coded=codes)
    if done.ignored:
        err.print(say_ignored(done.ignored))
    facts = {"plan": plan.digest, "reports": done.reports, "files": done.files, "ignored_columns": done.ignored}
    line = f"{output}: {done.reports:,} private reports to plan {plan.digest[:12]}… in {_files(done.files)}"
    announce(output, facts, line, json=json)


def privatise(
    context: typer.Context,
    data: options.ManyDataArgument,
    plan: PlanOption,
    output: Annotated[
        Path,
        Option("--output", "-o", metavar="FILE", help="Where the reports go: .ndjson, .csv or .parquet; - is NDJSON."),
    ],
    codes: options.CodesFlag = False,
    keep_order: Annotated[
        bool,
        Option("--keep-order", help="Keep the order of the rows, so that everybody sees which row a report came from."),
    ] = False,
    workers: Annotated[
        int,
        Option(metavar="N", help="How many threads draw reports; 0 for one a core.", callback=options.within(0, 1_024)),
    ] = 0,
    engine: EngineOption = "duckdb",
    master: MasterOption = None,
    force: options.ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Turn every row of answers into a private report, in an order that says nothing about the rows.

    What a file holds is told by its name: .csv, .ndjson or .jsonl (each also .gz), or .parquet. Columns that
    the schema does not name are ignored. Rows that do not fit the schema refuse everything; the first ten are named by
    line and question, and no answer is ever quoted.
    """
    from privtally.files import check_new, check_output, read_plan
    from privtally.participant.respond import respond_in_bulk
    from privtally.tables.answers import open_answers
    from privtally.tables.database import check_format, every_file
    from privtally.tables.engines import EngineChoice
    from privtally.tables.report_output import Gathered, write_reports

    EngineChoice(engine, master)
    if engine == "spark":
        refuse_without_effect(context, ["keep_order", "workers", "force"], "with --engine spark")
        privatise_on_spark(data, read_plan(plan), output, master, codes=codes, json=json)
        return
    check_output(output, [*every_file(data), plan])
    check_new(output, force=force)
    check_format(output)
    the_plan = read_plan(plan)
    with (
        open_answers(data, the_plan.schema, coded=codes, notice=err.print) as answers,
        Gathered(the_plan, keep_order=keep_order) as all_of,
    ):
        with progress("Privatising", answers.rows) as advance:
            batches = (records.codes for records in answers.batches(advance))
            for reports in respond_in_bulk(the_plan, batches, workers or os.cpu_count() or 1):
                all_of.add(reports)
        with err.status("Writing"):
            write_reports(output, the_plan, all_of)
    facts = {"plan": the_plan.digest, "reports": all_of.reports, "ignored_columns": [*answers.ignored]}
    line = f"{output}: {all_of.reports:,} private reports to plan {the_plan.digest[:12]}…"
    announce(output, facts, line, json=json)


def tally(
    reports: Annotated[
        list[Path],
        Argument(
            metavar="REPORTS…",
            help="Files of reports, directories of them or patterns; - is NDJSON from standard input.",
        ),
    ],
    plan: PlanOption,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where the counts go.")],
    trust_ids: Annotated[
        bool, Option("--trust-ids", help="Do not compare ids: for reports that are known to be there once.")
    ] = False,
    set_aside: Annotated[
        Path | None,
        Option("--set-aside", metavar="FILE.csv", help="List the reports that were not counted, with the reason."),
    ] = None,
    engine: EngineOption = "duckdb",
    master: MasterOption = None,
    json: JsonFlag = False,
) -> None:
    """Count the private reports to a plan, each report once.

    Reports that do not count are set aside, and how many is said by reason. Wrong_plan: the report answers another
    plan. Invalid_report: this plan cannot give it. Id_conflict: its id came with different codes.
    """
    from privtally.files import STANDARD, check_output, is_stream, read_plan, write_bytes, write_whole
    from privtally.tables.database import every_file, is_plain
    from privtally.tables.engines import EngineChoice, list_set_aside, tally_files

    chosen = EngineChoice(engine, master)
    files = every_file(reports)
    for path in (output, set_aside):
        check_output(path, [*files, plan])
    if set_aside is not None and set_aside.resolve() == output.resolve() and not is_stream(set_aside):
        raise DocumentError(f"{set_aside} cannot hold both the counts and what was set aside; name two files")
    for file in files if set_aside is not None else ():
        if file == STANDARD or (file.exists() and not is_plain(file)):
            raise DocumentError(f"--set-aside reads the reports twice, and {file} is no file; save it as one first")
    the_plan = read_plan(plan)
    with progress("Tallying", 0) as advance:
        counts = tally_files(the_plan, files, trust_ids=trust_ids, engine=chosen, advance=advance)
    write_bytes(output, counts.dump())
    facts: dict[str, Any] = {"plan": the_plan.digest, "reports": counts.reports, "repeated": counts.repeated}
    facts |= {"set_aside": dict(counts.set_aside), "ids_compared": not trust_ids, "kept": counts.detail}
    left_out = "ids not compared" if trust_ids else f"{counts.repeated:,} repeated ids left out"
    line = f"{output}: {counts.reports:,} reports counted, {left_out}; kept {counts.detail}"
    announce(output, facts, line, json=json)
    for reason, reports_aside in counts.set_aside.items():
        err.print(f"{reports_aside:,} {'report' if reports_aside == 1 else 'reports'} set aside: {_REASONS[reason]}.")
    if set_aside is not None:
        with write_whole(set_aside) as listing:
            listing.writelines(list_set_aside(the_plan, files, trust_ids=trust_ids, engine=chosen))
        err.print(f"Written: {set_aside}")


_REASONS = {
    "wrong_plan": "they answer another plan",
    "invalid_report": "they are no reports that this plan can give",
    "id_conflict": "their id came with different codes, which no honest participant sends",
}


def estimate(
    context: typer.Context,
    job: Annotated[
        Path | None, Argument(metavar="DIR", help="The directory that run -o wrote, instead of --phase.")
    ] = None,
    phase: options.PhaseOrJobOption = None,
    method: MethodOption = "likelihood",
    pair: Annotated[
        str | None, Option(metavar="A,B", help="The two-way table of two questions, from reports that answer both.")
    ] = None,
    pairs: Annotated[bool, Option("--pairs", help="All two-way tables that the reports carry.")] = False,
    top: TopOption = None,
    by_round: Annotated[
        bool,
        Option(
            "--by-round", help="Where a survey was asked again (refresh): the shares of every time, not only the last."
        ),
    ] = False,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Also write it to a .csv or .json file.")
    ] = None,
    plot: PlotOption = None,
    json: JsonFlag = False,
) -> None:
    """Estimate the share of every answer from plans and counts.

    Intervals are 1.96 standard errors to each side, cut off at 0 and 100 %. Those of --top hold for all answers to a
    question at once. --pair and --pairs need reports that answer two questions: those of a first phase, of spl, or with
    several questions a report.
    """
    from privtally.cli import render
    from privtally.collector.estimate import estimate
    from privtally.collector.pairs import estimate_pair, estimate_pairs
    from privtally.collector.summaries import top as most_frequent
    from privtally.collector.synthetic import going_together
    from privtally.exact.canonical import normal
    from privtally.files import check_output, is_stream, read_history, read_job, write_whole
    from privtally.plots import estimate as picture
    from privtally.plots import pair as heat_map
    from privtally.plots.rounds import draw_rounds

    if (job is None) == (not phase):
        raise DocumentError(f"estimate needs --phase PLAN COUNTS once for each phase, or else {_JOB}")
    phase = phase or read_job(job or Path())
    # What goes to a device, a pipe or standard output is JSON.
    suffix = ".json" if output is None or is_stream(output) else output.suffix.lower()
    if suffix not in (".csv", ".json"):
        raise DocumentError(f"{output}: an estimate must end in .csv or .json")
    for path in (output, plot):
        check_output(path, phase)
    history = read_history(phase)
    with err.status("Estimating"), ExitStack() as stack:
        result: Estimate | PairEstimate | PairEstimates | TopEstimate
        if pairs:
            refuse_without_effect(context, ["pair", "top", "by_round"], "with --pairs")
            result = estimate_pairs(history, method)
            draw = partial(heat_map.draw_all, result)
        elif pair is not None:
            refuse_without_effect(context, ["top", "by_round"], "with --pair")
            names = options.names_between_commas(normal(pair), history[0][0].schema.names)
            if len(names) != 2:
                raise DocumentError("--pair needs two questions with a comma between them: --pair smokes,drinks")
            result = estimate_pair(history, names[0], names[1], method)
            draw = partial(heat_map.draw, result)
        elif top is not None:
            refuse_without_effect(context, ["by_round"], "with --top")
            result = most_frequent(estimate(history, method), estimate(history, "unbiased"), top)
            draw = partial(picture.draw, result)
        else:
            result = estimate(history, method, by_round=by_round)
            draw = partial(draw_rounds if by_round else picture.draw, result)
        if plot is not None:
            stack.enter_context(write_whole(plot)).write(picture.render(draw(), plot))
        if output is not None:
            table = result.to_csv() if suffix == ".csv" else json_bytes(result)
            stack.enter_context(write_whole(output)).write(table)
    for path in filter(None, (output, plot)):
        err.print(f"Written: {path}")
    console = beside(output)
    if json:
        print_json(result, console)
    else:
        render.describe(result, console)
        for sentence in going_together(history)[:5] if pairs else ():
            console.print(sentence)


_JOB = "the directory that run -o wrote"


def synthesise(
    files: Annotated[
        list[Path] | None,
        Argument(metavar="PLAN COUNTS…", help="A plan and its counts, for each phase; or the directory of run -o."),
    ] = None,
    phase: options.PhaseOrJobOption = None,
    *,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE.csv", help="Where the made-up people go.")],
    rows: Annotated[int, Option(metavar="N", help="How many people to make up.")] = 10_000,
    keep: Annotated[
        str | None, Option(metavar="A,B;C,D", help="Pairs of questions whose tables are kept whatever the data say.")
    ] = None,
    intervals: Annotated[
        int,
        Option(
            metavar="B",
            help="Also write B tables, each of an estimate redrawn from its errors, say 50.",
            callback=options.within(0, 500),
        ),
    ] = 0,
    seed: Annotated[int | None, Option(metavar="N", help="Make up the same people again.")] = None,
    json: JsonFlag = False,
) -> None:
    """Write a table of made-up people whose shares and two-way tables are those of the estimate.

    A pair of questions keeps its table where the errors support that the two go together; all else is independent.
    FILE.json says how it was made. The spread of an analysis over FILE-1.csv, FILE-2.csv … is its standard error.
    """
    from privtally.collector.synthetic import synthetic
    from privtally.exact.randomness import Stream
    from privtally.files import check_output, read_history, read_job, write_whole
    from privtally.lab.population import seeded

    paths = phase or files or []
    paths = read_job(paths[0]) if len(paths) == 1 and paths[0].suffix != ".json" else paths
    if len(paths) % 2 or bool(files) == bool(phase):
        raise DocumentError(f"synthesise needs PLAN COUNTS for each phase, or else {_JOB}")
    if output.suffix.lower() != ".csv":
        raise DocumentError(f"{output}: a synthetic table must end in .csv")
    tables = [output, *(output.with_stem(f"{output.stem}-{number + 1}") for number in range(intervals))]
    for path in (*tables, facts := output.with_suffix(".json")):
        check_output(path, paths)
    if facts.is_file() and b"privtally.synthetic/1" not in facts.read_bytes():
        raise DocumentError(f"{facts} is there already and is something else; give the output another name")
    history = read_history(paths)
    pairs = [] if keep is None else options.named_groups(keep, history[0][0].schema)
    source = Stream.from_system() if seed is None else seeded(seed)
    with err.status("Making up people"), ExitStack() as stack:
        made = synthetic(history, rows, source, keep=pairs, replicates=intervals)
        stack.enter_context(write_whole(facts)).write(json_bytes(made.synthesis))
        for path, table in zip(tables, (made, *made.replicates), strict=True):
            stack.enter_context(write_whole(path)).write(table.to_csv())
    announce(output, {"synthesis": made.synthesis}, f"{output}: {made.synthesis}.", json=json)


def merge(
    counts: Annotated[list[Path], Argument(metavar="COUNTS…", help="Counts of the same plan, as tally writes them.")],
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where the sum goes.")],
    json: JsonFlag = False,
) -> None:
    """Add counts of the same plan; a report that was counted in two of them counts twice."""
    from privtally.documents.counts import load_counts
    from privtally.files import MOST_TABLE_BYTES, check_output, naming, read, write_bytes
    from privtally.tables.database import refuse_twice

    check_output(output, counts)
    refuse_twice(counts)
    first, *others = counts
    total = read(first, load_counts, MOST_TABLE_BYTES)
    for path in others:
        more = read(path, load_counts, MOST_TABLE_BYTES)
        with naming(path):
            total += more
    write_bytes(output, total.dump())
    facts = {"plan": total.plan, "files": len(counts), "reports": total.reports, "kept": total.detail}
    line = f"{output}: {total.reports:,} reports in {_files(len(counts))}; kept {total.detail}"
    announce(output, facts, line, json=json)


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"
