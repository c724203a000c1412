"""audit: plans -> what taking part gives away, in numbers."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from privtally.documents.plan import Plan
from privtally.errors import PlanError
from privtally.mechanisms.pivot_guess import pivot_guess
from privtally.privacy.certificate import certify
from privtally.privacy.leakage import Leakage, Marginals, leakage, uniform
from privtally.privacy.poisoning import poison

Frequencies = Mapping[str, Sequence[float]]

COLLUDERS = 0.01
"""The share of colluding participants whose effect an audit states."""


def audit(plan: Plan, frequencies: Frequencies | None = None) -> dict[str, Any]:
    """What one report to a plan gives away: its exact loss, and what an observer can guess from it.

    The observer knows how frequent every answer is by `frequencies`; if they are not given, nothing: every answer is as
    likely.
    """
    certificate = certify(plan)
    marginals = _marginals(plan, frequencies)
    found = leakage(plan.sampler, marginals)
    guess, exact = _pivot_guess(plan, marginals, found)
    return {
        "plan": plan.digest,
        "mechanism": plan.mechanism,
        "phase": plan.phase,
        "epsilon": plan.epsilon,
        "answers": plan.answers,
        "total_epsilon": plan.total_epsilon,
        **{name: certificate[name] for name in ("realised", "exact", "by_differing_attributes")},
        "pivot_guess": guess,
        "pivot_guess_exact": exact,
        "observer": "knows-nothing" if frequencies is None else "knows-totals",
        "pivot_guess_knowing_nothing": guess if frequencies is None else _knowing_nothing(plan),
        "pivot_guess_without_report": None if found.blind_pivot_guess is None else float(found.blind_pivot_guess),
        "value_guesses": found.values
        and {
            name: {"without_report": float(guess.before), "with_report": float(guess.after)}
            for name, guess in zip(plan.schema.names, found.values, strict=True)
        },
        "bits": found.bits,
        "poisoning": _poisoning(plan, marginals),
    }


def audit_campaign(plans: Sequence[Plan], frequencies: Frequencies | None = None) -> dict[str, Any]:
    """What a person who answers every one of the plans gives away: budgets add up."""
    parts = [audit(plan, frequencies) for plan in plans]
    if len(parts) == 1:
        return parts[0]
    if any(plan.schema != plans[0].schema for plan in plans):
        raise PlanError("the plans have different schemas; audit the plans of one campaign together")
    rows = zip(*(part["by_differing_attributes"] for part in parts), strict=True)
    realised = [sum(entry["realised"] for entry in row) for row in rows]
    return {
        "epsilon": sum(part["epsilon"] for part in parts),
        "realised": sum(part["realised"] for part in parts),
        "exact": False,
        "by_differing_attributes": [
            {"differing": differing, "realised": total, "exact": False} for differing, total in enumerate(realised, 1)
        ],
        "plans": parts,
    }


def _pivot_guess(plan: Plan, marginals: Marginals, found: Leakage) -> tuple[float | None, bool]:
    """The chance of naming a part's asked attributes, the largest one, and whether it is exact or a bound; None where
    every part asks all of its attributes, or no bound can be given.
    """
    if found.pivot_guess is not None or found.blind_pivot_guess is None:
        return None if found.pivot_guess is None else float(found.pivot_guess), True
    known = [np.array(own, dtype=float) for own in marginals]
    parts = [part for part in plan.sampler.parts if len(part.branches) > 1]
    guesses = [pivot_guess(part, [known[own] for own in part.attributes]) for part in parts]
    value, exact = max(guess.value for guess in guesses), all(guess.exact for guess in guesses)
    return value if exact or value < 1 else None, exact


def _knowing_nothing(plan: Plan) -> float | None:
    """The guess of somebody to whom all answers are as likely."""
    marginals = uniform(plan.schema.sizes)
    return _pivot_guess(plan, marginals, leakage(plan.sampler, marginals))[0]


def _marginals(plan: Plan, frequencies: Frequencies | None) -> list[list[Fraction]]:
    if frequencies is None:
        return uniform(plan.schema.sizes)
    marginals = []
    for attribute in plan.schema.attributes:
        given = frequencies.get(attribute.name, ())
        if not all(isinstance(value, Real) and math.isfinite(value) for value in given):
            raise PlanError(f"the frequencies of '{attribute.name}' must be finite numbers")
        values = [max(Fraction(value), Fraction(0)) for value in given]
        if len(values) != attribute.size or not sum(values):
            raise PlanError(
                f"the frequencies of '{attribute.name}' do not fit the plan; give an estimate of the same questions"
            )
        marginals.append([value / sum(values) for value in values])
    return marginals


def _poisoning(plan: Plan, marginals: Marginals) -> dict[str, Any]:
    """What a few colluders can do to the totals of this phase alone, each undone by its exact operator."""
    found = poison(plan.sampler, [np.array(own, dtype=float) for own in marginals], COLLUDERS)
    effects = {
        attribute.name: effect
        and {
            "label": attribute.labels[effect.code],
            "shift_points": 100 * effect.shift,
            "quiet_shift_points": 100 * effect.quiet_shift,
            "hidden_below_share": effect.hidden_below,
        }
        for attribute, effect in zip(plan.schema.attributes, found, strict=True)
    }
    return {"share": COLLUDERS, "attributes": effects}
