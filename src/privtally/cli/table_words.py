"""Two-way tables on a terminal."""

from collections.abc import Sequence
from math import ceil

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from privtally.cli.numbers import share
from privtally.collector.pairs import PairEstimate
from privtally.documents.estimate import NORMAL_95

HALF_INTERVAL = "± is half of a 95 % interval, in percentage points."
MOST_ROWS = 40
HEADER_WIDTH = 16
"""Names and labels above a column are folded to this width."""


def print_blocks(
    corner: str, rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]], console: Console
) -> None:
    """Print a table in blocks of columns, as many as fit the console beside each other, so that no cell is cut."""
    names = min(max(map(cell_len, [corner, *rows])), 2 * HEADER_WIDTH)
    widest = max(cell_len(cell) for row in cells for cell in row)
    width = max(widest, min(max(map(cell_len, columns)), HEADER_WIDTH))
    step = max((console.width - names - 4) // (width + 3), 1)
    for start in range(0, min(len(columns), MOST_ROWS), step):
        block = slice(start, min(start + step, MOST_ROWS))
        table = Table(Column(Text(corner), width=names, overflow="fold"))
        for name in columns[block]:
            table.add_column(Text(name), justify="right", width=width, overflow="fold")
        for name, row in zip(rows[:MOST_ROWS], cells, strict=False):
            table.add_row(Text(name), *row[block])
        console.print(table)
    if max(len(rows), len(columns)) > MOST_ROWS:
        console.print(f"Only the first {MOST_ROWS} of {max(len(rows), len(columns)):,} are shown; --json has all.")


def with_error(frequency: float, standard_error: float) -> str:
    """A share with half of its 95 % interval, in percentage points."""
    return f"{share(frequency)} ± {100 * NORMAL_95 * standard_error:.1f}"


def print_pair(pair: PairEstimate, console: Console) -> None:
    """Print a two-way table."""
    first, second = pair.attributes
    console.print(f"{pair.reports:,} private reports of both")
    cells = [
        [with_error(frequency, error) for frequency, error in zip(row, errors, strict=True)]
        for row, errors in zip(pair.frequencies, pair.standard_errors, strict=True)
    ]
    print_blocks(f"{first} \\ {second}", pair.labels[0], pair.labels[1], cells, console)
    end = ", no entry below 0" if pair.method == "likelihood" else ""
    console.print(f"Rows and columns add up to the {pair.method} estimates of each question{end}. {HALF_INTERVAL}")
    if pair.noisy:
        squares = [error**2 for errors in pair.standard_errors for error in errors]
        times = ceil(4 * sum(squares) * len(squares))
        more = f"about {times:,} times as many reports make them half as large"
        console.print(f"Warning: the errors are as large as the entries, so this table says little; {more}.")
