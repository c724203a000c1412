"""What people should know about an estimate: phases that hardly tell attributes apart, and reports not kept whole."""

from collections.abc import Sequence

from privtally.collector.estimate.phase import PhaseEstimate
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan

NEARLY_SINGULAR = 1e2
"""A condition number from which on people should be told."""


def about_conditions(names: Sequence[str], phases: Sequence[int], found: Sequence[PhaseEstimate]) -> list[str]:
    """Which phases cannot, or can hardly, tell attributes apart."""
    notes = []
    for number, phase in zip(phases, found, strict=True):
        lost = [name for name, known in zip(names, phase.known, strict=True) if not known]
        if lost:
            notes.append(
                f"Phase {number} cannot tell {', '.join(lost)} apart from the others (its operator is singular); "
                "those frequencies rest on the other phases alone."
            )
        elif phase.condition > NEARLY_SINGULAR:
            rest = "; the frequencies rest mostly on the other phases" if len(found) > 1 else "; its errors are large"
            notes.append(
                f"Phase {number} hardly tells the attributes apart (its operator is nearly singular, condition "
                f"{phase.condition:.0f}){rest}."
            )
    return notes


def about_limits(plan: Plan, counts: Counts) -> list[str]:
    """Which parts have more different reports than are kept."""
    return [
        f"Phase {plan.phase} has more than {counts.limit:,} different reports, so that the estimate rests on the "
        "counts of single questions; whole reports would say more."
        for part in plan.sampler.parts
        if counts.parts.get(part.attributes, True) is None
    ]
