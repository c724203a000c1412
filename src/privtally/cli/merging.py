"""merge: counts of the same plan become one."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from privtally.cli.console import announce
from privtally.cli.options import JsonFlag


def merge(
    counts: Annotated[list[Path], Argument(metavar="COUNTS…", help="Counts of the same plan, as tally writes them.")],
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where the sum goes.")],
    json: JsonFlag = False,
) -> None:
    """Add counts of the same plan; a report that was counted in two of them counts twice."""
    from privtally.documents.counts import load_counts
    from privtally.files import MOST_TABLE_BYTES, check_output, naming, read, write_bytes
    from privtally.tables.paths import refuse_twice

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
    files = "1 file" if len(counts) == 1 else f"{len(counts):,} files"
    announce(output, facts, f"{output}: {total.reports:,} reports in {files}; kept {total.detail}", json=json)
