"""privatise, tally: answers -> reports -> counts."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from privtally.cli import options
from privtally.cli.console import announce, err, progress
from privtally.cli.engines import EngineOption, MasterOption, PrivatiseEngineOption, privatise_on_spark
from privtally.cli.options import JsonFlag, PlanOption


def privatise(
    data: options.ManyDataArgument,
    plan: PlanOption,
    output: Annotated[
        Path, Option("--output", "-o", help="Where the reports go: .ndjson, .csv or .parquet; - is NDJSON.")
    ],
    codes: options.CodesFlag = False,
    keep_order: Annotated[
        bool,
        Option("--keep-order", help="Keep the rows' order (report 5 is row 5's) instead of sorting by random ids."),
    ] = False,
    workers: Annotated[
        int, Option(help="How many threads draw reports; 0 for one a core.", callback=options.within(0, 1_024))
    ] = 0,
    engine: PrivatiseEngineOption = "duckdb",
    master: MasterOption = None,
    json: JsonFlag = False,
) -> None:
    """Turn every row of answers into a private report, in an order that says nothing about the rows."""
    if engine == "spark":
        privatise_on_spark(data, plan, output, master, codes=codes, keep_order=keep_order, json=json)
        return
    from os import cpu_count

    from privtally.tables.engines import EngineChoice

    EngineChoice(engine, master)
    from privtally.files import check_output, read_plan
    from privtally.participant.bulk import respond_in_bulk
    from privtally.tables.answer_files import open_answers
    from privtally.tables.gathering import Gathered
    from privtally.tables.report_output import write_reports

    check_output(output, [*data, plan])
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
    output: Annotated[Path, Option("--output", "-o", help="Where the counts go.")],
    trust_ids: Annotated[
        bool, Option("--trust-ids", help="Count every report without comparing ids: where each is known to stand once.")
    ] = False,
    set_aside: Annotated[
        Path | None,
        Option("--set-aside", metavar="FILE.csv", help="List the reports that were not counted, with the reason."),
    ] = None,
    engine: EngineOption = "duckdb",
    master: MasterOption = None,
    json: JsonFlag = False,
) -> None:
    """Count the reports to a plan, each report id once."""
    from privtally.files import check_output, read_plan, write_bytes
    from privtally.tables.engines import EngineChoice
    from privtally.tables.report_files import list_set_aside, tally_files

    check_output(output, [*reports, plan])
    chosen = EngineChoice(engine, master)
    the_plan = read_plan(plan)
    with progress("Tallying", 0) as advance:
        result = tally_files(the_plan, reports, trust_ids=trust_ids, engine=chosen, advance=advance)
    counts = result.counts
    write_bytes(output, counts.dump())
    facts: dict[str, Any] = {"plan": the_plan.digest, "reports": counts.reports, "repeated": result.repeated}
    facts |= {"set_aside": dict(result.set_aside), "ids_compared": not trust_ids, "kept": counts.detail}
    left_out = "ids not compared" if trust_ids else f"{result.repeated:,} repeated ids left out"
    announce(
        output, facts, f"{output}: {counts.reports:,} reports counted, {left_out}; kept {counts.detail}", json=json
    )
    for reason, many in result.set_aside.items():
        err.print(f"{many:,} {'report' if many == 1 else 'reports'} set aside: {_REASONS[reason]}.")
    if set_aside is not None:
        write_bytes(set_aside, list_set_aside(the_plan, reports, engine=chosen))
        err.print(f"Written: {set_aside}")


_REASONS = {
    "wrong_plan": "they answer another plan",
    "invalid_report": "they are no reports that this plan can give",
    "id_conflict": "their id came with different codes, which no honest participant sends",
}
