"""privatise, tally: answers -> reports -> counts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from privtally.cli.console import announce, err, file_size, progress
from privtally.cli.options import DataArgument, JsonFlag, PlanOption


def privatise(
    data: DataArgument,
    plan: PlanOption,
    output: Annotated[Path, Option("--output", "-o", help="Where the reports go, one JSON object a line.")],
    keep_order: Annotated[
        bool,
        Option("--keep-order", help="Keep the rows' order (report 5 is row 5's) instead of sorting by random ids."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Turn every row of answers into a private report, in an order that says nothing about the rows."""
    from privtally.exact.source import Stream
    from privtally.files import check_output, is_stream, read_plan, write_whole
    from privtally.participant.respond import respond_many
    from privtally.tables.csv_table import open_table
    from privtally.tables.sorting import after_the_last, in_order

    check_output(output, [data, plan])
    the_plan = read_plan(plan)
    source = Stream.from_system()
    written = 0
    with open_table(data, the_plan.schema) as table:
        if table.ignored:
            err.print(table.say_ignored())
        with progress("Privatising", file_size(data)) as advance, write_whole(output) as file:
            batches = (respond_many(the_plan, records, source) for records in table.batches(advance))
            lines: Iterator[bytes] = (line for reports in batches for line in reports.lines())
            if not keep_order:
                lines = in_order(lines)
            elif is_stream(output):  # what went into a pipe cannot be taken back: first every row must fit
                lines = after_the_last(lines)
            for line in lines:
                file.write(line)
                written += 1
    facts = {"plan": the_plan.digest, "reports": written, "ignored_columns": table.ignored}
    announce(output, facts, f"{output}: {written:,} private reports to plan {the_plan.digest[:12]}…", json=json)


def tally(
    reports: Annotated[list[Path], Argument(metavar="REPORTS.ndjson…", help="Files of reports; - is standard input.")],
    plan: PlanOption,
    output: Annotated[Path, Option("--output", "-o", help="Where the counts go.")],
    json: JsonFlag = False,
) -> None:
    """Count the reports to a plan, each report id once."""
    from privtally.collector.tally import tally
    from privtally.errors import ReportError
    from privtally.files import check_output, read_plan, write_bytes
    from privtally.tables.report_lines import ReportFiles

    check_output(output, [*reports, plan])
    the_plan = read_plan(plan)
    with progress("Tallying", sum(map(file_size, reports))) as advance:
        files = ReportFiles(reports, advance)
        try:
            result = tally(the_plan, files)
        except ReportError as fault:
            raise ReportError(f"{files.place}: {fault}") from None
    counts = result.counts
    write_bytes(output, counts.dump())
    line = f"{counts.reports:,} reports counted, {result.repeated:,} repeated ids left out; kept {counts.detail}"
    facts = {"plan": the_plan.digest, "reports": counts.reports, "repeated": result.repeated}
    facts |= {"conflicting": result.conflicting, "kept": counts.detail}
    announce(output, facts, f"{output}: {line}", json=json)
    if result.conflicting:
        why = "which no honest participant sends; the earlier one counts"
        err.print(f"{result.conflicting:,} reports have the id of an earlier one and other codes, {why}.")
