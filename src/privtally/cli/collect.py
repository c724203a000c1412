"""privatise, tally: answers -> reports -> counts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from privtally.cli import options
from privtally.cli.console import announce, err, progress
from privtally.cli.engines import EngineOption, MasterOption, PrivatiseEngineOption, privatise_on_spark
from privtally.cli.options import JsonFlag, PlanOption
from privtally.errors import DocumentError, EngineError


def privatise(
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
    engine: PrivatiseEngineOption = "duckdb",
    master: MasterOption = None,
    force: options.ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Turn every row of answers into a private report, in an order that says nothing about the rows.

    What a file holds is told by its name: .csv, .ndjson or .jsonl (each also .gz or .zst), or .parquet. Columns that
    the schema does not name are ignored. Rows that do not fit the schema refuse everything; the first ten are named by
    line and question, and no answer is ever quoted.
    """
    if engine == "spark":
        if workers:
            raise EngineError("--workers has no effect with --engine spark, which has its own; leave it out")
        if force:
            raise EngineError("--force has no effect with --engine spark, which writes a new directory; leave it out")
        privatise_on_spark(data, plan, output, master, codes=codes, keep_order=keep_order, json=json)
        return
    from os import cpu_count

    from privtally.tables.engines import EngineChoice

    EngineChoice(engine, master)
    from privtally.files import check_new, check_output, read_plan
    from privtally.participant.bulk import respond_in_bulk
    from privtally.tables.answer_files import open_answers
    from privtally.tables.gathering import Gathered
    from privtally.tables.paths import check_format, every_file
    from privtally.tables.report_output import write_reports

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
            for reports in respond_in_bulk(the_plan, batches, workers or cpu_count() or 1):
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
    state: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Remember in this directory what was counted, and next time read only files that are new.",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Count the private reports to a plan, each report once.

    Reports that do not count are set aside, and how many is said by reason. Wrong_plan: the report answers another
    plan. Invalid_report: this plan cannot give it. Id_conflict: its id came with different codes.

    --state makes counting day by day cheap: the counts are those of all files so far, and ids are compared across days.
    A counted file must stay as it was.
    """
    from privtally.files import check_output, read_plan, write_bytes
    from privtally.tables.engines import EngineChoice
    from privtally.tables.paths import every_file
    from privtally.tables.report_files import list_set_aside, tally_files
    from privtally.tables.state import refuse_inside, tally_on

    chosen = EngineChoice(engine, master)
    if state is not None and engine != "duckdb":
        raise DocumentError("--state is kept by DuckDB; leave --engine out")
    files = every_file(reports)
    if state is not None:
        refuse_inside(state, reports)
    for path in (output, set_aside):
        check_output(path, [*files, plan])
    if set_aside is not None:
        _check_listing(set_aside, output, files, state)
    the_plan = read_plan(plan)
    before = None
    with progress("Tallying", 0) as advance:
        if state is None:
            result = tally_files(the_plan, files, trust_ids=trust_ids, engine=chosen, advance=advance)
        else:
            continued = tally_on(the_plan, files, state, trust_ids=trust_ids, advance=advance)
            result, before = continued.result, continued.counted_before
    counts = result.counts
    write_bytes(output, counts.dump())
    facts: dict[str, Any] = {"plan": the_plan.digest, "reports": counts.reports, "repeated": result.repeated}
    facts |= {"set_aside": dict(result.set_aside), "ids_compared": not trust_ids, "kept": counts.detail}
    if before is not None:
        facts |= {"files_counted_before": before, "files_read": continued.read_now}
    left_out = "ids not compared" if trust_ids else f"{result.repeated:,} repeated ids left out"
    announce(
        output, facts, f"{output}: {counts.reports:,} reports counted, {left_out}; kept {counts.detail}", json=json
    )
    for reason, many in result.set_aside.items():
        err.print(f"{many:,} {'report' if many == 1 else 'reports'} set aside: {_REASONS[reason]}.")
    if before is not None:
        err.print(f"{continued.read_now:,} new files read; {before:,} counted before and not read again.")
    if set_aside is not None:
        _list_set_aside(set_aside, list_set_aside(the_plan, files, trust_ids=trust_ids, engine=chosen))


def _check_listing(path: Path, output: Path, files: list[Path], state: Path | None) -> None:
    """Refuse a list of what was set aside where the reports cannot be read once more."""
    from privtally.files import STANDARD, is_stream
    from privtally.tables.paths import is_plain

    if state is not None:
        raise DocumentError("--set-aside reads all reports again, which --state avoids; use one of them")
    if path.resolve() == output.resolve() and not is_stream(path):
        raise DocumentError(f"{path} cannot hold both the counts and what was set aside; name two files")
    for file in files:
        if file == STANDARD or (file.exists() and not is_plain(file)):
            raise DocumentError(f"--set-aside reads the reports twice, and {file} is no file; save it as one first")


def _list_set_aside(path: Path, lines: Iterator[bytes]) -> None:
    from privtally.files import write_whole

    with write_whole(path) as file:
        file.writelines(lines)
    err.print(f"Written: {path}")


_REASONS = {
    "wrong_plan": "they answer another plan",
    "invalid_report": "they are no reports that this plan can give",
    "id_conflict": "their id came with different codes, which no honest participant sends",
}
