"""Options for what computes over tables, and privatising on a cluster."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from privtally.cli.console import announce, err
from privtally.errors import EngineError
from privtally.names import EngineName

EngineOption = Annotated[
    EngineName,
    Option(
        "--engine",
        metavar="NAME",
        help="What counts: duckdb, polars or spark (extras of these names); the same counts.",
    ),
]
PrivatiseEngineOption = Annotated[
    Literal["duckdb", "spark"],
    Option(
        "--engine", metavar="NAME", help="Where it happens: duckdb (here) or spark (its workers, into a directory)."
    ),
]
MasterOption = Annotated[
    str | None,
    Option("--master", metavar="URL", help="With --engine spark: the cluster's master, as spark://HOST:7077."),
]


def privatise_on_spark(
    data: Sequence[Path], plan: Path, output: Path, master: str | None, *, codes: bool, keep_order: bool, json: bool
) -> None:
    """`privatise --engine spark`."""
    from privtally.files import read_plan
    from privtally.tables.engines import EngineChoice
    from privtally.tables.faults import say_ignored

    if keep_order:
        raise EngineError("--keep-order has no effect with --engine spark, whose files have no order; leave it out")
    EngineChoice("spark", master)
    from privtally.tables.spark_privatise import privatise_files

    the_plan = read_plan(plan)
    with err.status("Privatising"):
        done = privatise_files(the_plan, data, output, master=master, coded=codes)
    if done.ignored:
        err.print(say_ignored(done.ignored))
    facts = {"plan": the_plan.digest, "reports": done.reports, "files": done.files, "ignored_columns": done.ignored}
    files = "1 file" if done.files == 1 else f"{done.files:,} files"
    line = f"{output}: {done.reports:,} private reports to plan {the_plan.digest[:12]}… in {files}"
    announce(output, facts, line, json=json)
