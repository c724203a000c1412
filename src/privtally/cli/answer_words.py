"""What follows from frequencies, in words: shares among those who answered, mean and quantiles of numbers."""

from collections.abc import Iterator

import msgspec
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from privtally.documents.estimate import AttributeEstimate, Estimate, Frequencies, Located

QUANTILES = {0.25: "a quarter is below", 0.5: "half is below (median)", 0.75: "three quarters are below"}


def blocks(name: str, attribute: AttributeEstimate) -> Iterator[tuple[str, Frequencies]]:
    """The frequencies of an attribute with what to call them: among everybody, and among those who answered."""
    yield name, attribute
    if attribute.answered is not msgspec.UNSET:
        yield f"{name} (of those who answered)", attribute.answered


def print_numbers(estimate: Estimate, console: Console) -> None:
    """Print mean and quantiles of the attributes that have them."""
    table = Table(Column("numbers", overflow="fold"), Column("", overflow="fold"))
    table.add_column("estimate", justify="right", no_wrap=True)
    table.add_column("95 %", justify="right", no_wrap=True)
    for name, attribute in estimate.attributes.items():
        if attribute.mean is msgspec.UNSET or attribute.quantiles is msgspec.UNSET:
            continue
        answered = "" if attribute.answered is msgspec.UNSET else " (of those who answered)"
        table.add_row(Text(name + answered), "mean", *_cells(attribute.mean))
        for quantile in attribute.quantiles:
            what = QUANTILES.get(quantile.share, f"{quantile.share:.0%} is below")
            table.add_row("", what, *_cells(quantile))
        table.add_section()
    if table.row_count:
        console.print(table)
        console.print("These intervals include what the bins leave open: where in its bin a number lies.")


def _cells(found: Located) -> tuple[str, str]:
    return _number(found.value), f"{_number(found.low)} to {_number(found.high)}"


def _number(value: float) -> str:
    """A number with about four digits, and all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
