"""Numbers as people read them."""

from math import exp

from privtally.exact.rounding import rounded_up


def points(value: float) -> str:
    """An error in percentage points."""
    return f"± {number(value)} percentage points"


def number(value: float) -> str:
    """Two digits, and all those before the point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def percent(share: float) -> str:
    """A share of people or reports."""
    return f"{100 * share:.3g} %"


def share(value: float) -> str:
    """An estimated share, or how often something happens."""
    return f"{100 * value:.1f} %"


def surer(epsilon: float) -> str:
    """What a budget means, in one sentence."""
    times = f"{rounded_up(exp(epsilon)):,f}"
    return (
        f"Privacy budget ε = {epsilon:g}: a report can make anybody at most {times} times surer of something about the "
        "person who sent it."
    )
