"""The variance of one frequency by the number of labels: randomized response against the channel that a plan takes.

`python -m benchmarks.domains` prints the table of docs/notes/large-domains.md: one frequency at uniform answers, one
report.
"""

from fractions import Fraction

from privtally.mechanisms.grouping import answer_variance

SIZES = (4, 8, 16, 42, 64, 256, 1_024, 16_384, 65_536)
BUDGETS = (0.5, 1.0, 2.0, 4.0)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def table() -> list[str]:
    """The lines of the table."""
    lines = [
        "| labels | " + " | ".join(f"ε = {budget:g}" for budget in BUDGETS) + " |",
        "|---" * (1 + len(BUDGETS)) + "|",
    ]
    for size in SIZES:
        cells = []
        for budget in map(Fraction, BUDGETS):
            plain, chosen = (answer_variance(budget, size, by_label=by_label) for by_label in (True, False))
            if chosen < plain:
                cells.append(f"{_number(plain)} → {_number(chosen)} ({_number(plain / chosen)} times)")
            else:
                cells.append(f"{_number(plain)}, kept")
        lines.append(f"| {size:,} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
