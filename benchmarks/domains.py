"""The variance of one frequency by the number of labels: randomized response against the channel that a plan takes.

`python -m benchmarks.domains` prints the table of docs/notes/large-domains.md: one frequency at uniform answers, one
report.
"""

from fractions import Fraction

import numpy as np

from privtally.mechanisms.channels import Asked, randomized_response
from privtally.mechanisms.named import best_channel
from privtally.mechanisms.projective import Projective

SIZES = (4, 8, 16, 42, 64, 256, 1_024, 16_384, 65_536)
BUDGETS = (0.5, 1.0, 2.0, 4.0)


def variance(channel: Asked) -> float:
    """The variance of an unbiased frequency at uniform answers, from one report, by the exact weights."""
    scale = channel.scale
    assert scale is not None
    uniform = np.full(channel.inputs, 1 / channel.inputs)
    seen = channel.support(channel.push(uniform))
    return float(np.mean(seen * (1 - seen))) / float(scale) ** 2


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
            plain = variance(randomized_response(budget, size))
            best = best_channel(budget, size).channel(budget, size)
            if isinstance(best, Projective):
                chosen = variance(best)
                cells.append(f"{_number(plain)} → {_number(chosen)} ({_number(plain / chosen)} times)")
            else:
                cells.append(f"{_number(plain)}, kept")
        lines.append(f"| {size:,} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
