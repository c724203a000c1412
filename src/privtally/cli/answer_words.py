"""Parts and choices of an estimate in words: those who answered, numbers, the most frequent labels, intervals."""

from collections.abc import Iterator
from statistics import fmean

import msgspec
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from privtally.cli.numbers import points, share
from privtally.collector.top import TopEstimate, TopLabels
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
            what = QUANTILES.get(quantile.share, f"{100 * quantile.share:.0f} % is below")
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


def print_top(top: TopEstimate, console: Console) -> None:
    """Print the most frequent labels, the most frequent first."""
    console.print(source(top))
    table = Table(Column("question", overflow="fold"), Column("answer", overflow="fold"))
    for name in ("estimate", "95 %, all at once"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, attribute in top.attributes.items():
        for place, label in enumerate(attribute.labels):
            frequency = share(attribute.frequencies[place])
            table.add_row(Text(name if place == 0 else ""), Text(label), frequency, reach(attribute, place))
        if len(attribute.labels) < attribute.of:
            table.add_row("", rarer(attribute.of - len(attribute.labels)))
        table.add_section()
    console.print(table)
    console.print("The intervals of all answers to a question hold together 95 % of the time, chosen or not.")
    for note in top.notes:
        console.print(note)


def rarer(many: int) -> str:
    """A row for the answers that are not shown."""
    return "… and 1 rarer one" if many == 1 else f"… and {many:,} rarer ones"


def source(estimate: Estimate | TopEstimate) -> str:
    """What an estimate is worth, and in a second line where it came from."""
    provenance = estimate.provenance
    reports = " + ".join(f"{phase.reports:,}" for phase in provenance.phases)
    how = f"{provenance.mechanism}, ε = {provenance.phases[0].epsilon:g}, method {estimate.method}"
    return f"{_worth(estimate)}\nFrom {reports} private reports: {how}."


def _worth(estimate: Estimate | TopEstimate) -> str:
    if isinstance(estimate, TopEstimate):
        widths = [
            high - low for own in estimate.attributes.values() for low, high in zip(own.low, own.high, strict=True)
        ]
        return f"The most frequent answers, each share known to about {points(50 * fmean(widths))}."
    if not estimate.has_intervals:
        return "Estimated shares of all answers; the method 'paper' has a bias here that no ± includes."
    return f"A share is known to about {points(100 * estimate.half_width)}, on average over all answers."


def reach(attribute: Frequencies | TopLabels, code: int) -> str:
    """The 95 % interval of a frequency, or one standard error where there is none."""
    if attribute.low is msgspec.UNSET or attribute.high is msgspec.UNSET:
        return f"± {100 * attribute.standard_errors[code]:.1f} points"
    low, high = 100 * attribute.low[code], 100 * attribute.high[code]
    return f"{low:.1f}{'–' if low >= 0 else ' to '}{high:.1f} %"
