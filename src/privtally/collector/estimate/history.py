"""The history of a campaign: its phases, each with its counts, in order and round by round."""

from collections.abc import Sequence
from itertools import groupby

from privtally.documents.campaign import check_one_campaign
from privtally.documents.counts import Counts, check_counts
from privtally.documents.plan import Plan
from privtally.errors import EstimateError

Phase = tuple[Plan, Counts]
History = Sequence[Phase]
"""Phases of one campaign, each with its counts."""


def in_order(history: History) -> list[Phase]:
    """The phases in order, refused if they do not belong together or are empty."""
    if not history:
        raise EstimateError("an estimate needs the plan and counts of at least one phase")
    for plan, counts in history:
        check_counts(plan, counts)
        if not counts.reports:
            raise EstimateError(f"phase {plan.phase} has no reports; collect some or leave the phase out")
    check_one_campaign([plan for plan, _ in history], EstimateError)
    return sorted(history, key=lambda phase: phase[0].phase)


def in_rounds(history: History) -> list[History]:
    """The phases of a history in order, round by round."""
    return [list(phases) for _, phases in groupby(history, key=lambda phase: phase[0].round)]
