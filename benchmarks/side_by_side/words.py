"""The figures as tables in Markdown, which read well on a terminal too."""

from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the first two are words and the others numbers."""
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    numbers = len(head) - 2

    def line(cells: Sequence[str]) -> str:
        words = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
        figures = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
        return "| " + " | ".join(words + figures) + " |"

    return "\n".join([line(head), "|---|---" + "|---:" * numbers + "|", *map(line, body)])


def number(value: float | None) -> str:
    """Three significant digits, without exponents for numbers above a hundredth."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def speed(rows: Rows) -> str:
    """Rates, memory, and how many times as fast privtally is."""
    body = []
    for row in rows:
        ratio = row["ratio_to_us"]
        times = number(None if ratio is None else 1 / ratio)
        body.append([row["job"], row["subject"], number(row["reports_per_second"]), number(row["peak_mb"]), times])
    return table(["job", "subject", "reports/CPU s", "peak MB", "privtally ×"], body)


def reasons(rows: Rows) -> list[str]:
    """Why figures are missing."""
    names = ("subject", "estimator")
    return [
        f"{next(row[name] for name in names if name in row)} ({row['job']}): {row['reason']}"
        for row in rows
        if "reason" in row
    ]


def accuracy(rows: Rows) -> str:
    """Mean squared errors, and how many times privtally's likelihood estimate's they are."""
    likelihood = {(row["job"], row["labels"]): row["mse"] for row in rows if row["estimator"] == "privtally likelihood"}
    body = []
    for row in rows:
        own, ours = row["mse"], likelihood.get((row["job"], row["labels"]))
        job = f"{row['job']}, {row['labels']:,} labels"
        if own is None:
            body.append([job, row["estimator"], "–", "–", "–"])
            continue
        against = "–" if not ours else f"{own / ours:.2f}"
        body.append([job, row["estimator"], f"{own:.2e}", f"{row['standard_error']:.0e}", against])
    return table(["job", "estimator", "MSE", "±", "by likelihood"], body)


def scaling(rows: Rows, what: str) -> str:
    """CPU seconds, and how cost grows from a value to the next."""
    body = []
    for row in rows:
        growth = "–" if row["growth"] is None else f"{row['growth']:.1f} for {row['times']:g}"
        seconds = [f"{row[name]:.4f}" for name in ("privatise", "tally", "unbiased")]
        body.append([row["mechanism"], f"{row[what]:,}", *seconds, growth])
    return table(["job", what, "privatise s", "tally s", "estimate s", "growth"], body)


def by_attributes(found: Mapping[str, tuple[float, float]]) -> str:
    """What an attribute and a pair of attributes add to the cost of a report."""
    body = [[name, "a report", f"{single:.2f}", f"{pair:.2f}"] for name, (single, pair) in found.items()]
    return table(["job", "for", "ns an attribute", "ns a pair of attributes"], body)
