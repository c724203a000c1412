"""Plan: one phase of a campaign as a public, immutable document.

A participant who holds a plan knows everything about how their answers will be made private; its digest names it in
every report and every count, and its meaning never changes.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import msgspec

from privtally.errors import PlanError
from privtally.exact import wire
from privtally.mechanisms import (
    Mechanism,
    Pivot,
    Sample,
    Split,
    copy_fills,
    prior_fills,
    table_fills,
    uniform_fills,
)
from privtally.mechanisms.pivot import Table
from privtally.names import MECHANISMS, TWO_PHASE, MechanismName, Rule
from privtally.schema import Schema

PARAMETER = {"rs-rfd": "priors", "corr-rr": "copy_probability", "cond-rr": "conditional_tables"}
"""The field of a plan that holds what its mechanism needs beyond epsilon and the schema."""

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 32.0
MAX_TABLE_CELLS = 1_000_000


class Learned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a second phase's parameters came from."""

    plan: str
    counts: str
    reports: int
    rule: Rule | None = None
    phase2_users: int | None = None
    pivot_guess: float | msgspec.UnsetType = msgspec.UNSET
    """How often an observer who knows nothing of the answers names a report's pivot, where the rule has a bound."""

    def __post_init__(self) -> None:
        wire.check_digest(self.plan, "the plan that was learned from", PlanError)
        wire.check_digest(self.counts, "the counts that were learned from", PlanError)
        if self.reports < 1 or (self.phase2_users is not None and self.phase2_users < 1):
            raise PlanError("numbers of people must be at least 1")
        if self.pivot_guess is not msgspec.UNSET and not 0 < self.pivot_guess <= 1:
            raise PlanError("'pivot_guess' must be above 0 and at most 1")


class Plan(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    dict=True,
    tag_field="format",
    tag="privtally.plan/1",
):
    """One phase: who is asked what, and the exact randomness between an answer and a report."""

    schema: Schema
    epsilon: float
    campaign: MechanismName
    phase: Literal[1, 2]
    mechanism: MechanismName
    priors: tuple[tuple[float, ...], ...] | None = None
    copy_probability: tuple[tuple[float, ...], ...] | None = None
    conditional_tables: tuple[tuple[Table | None, ...], ...] | None = None
    learned: Learned | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if self.mechanism != phase_mechanism(self.campaign, self.phase):
            raise PlanError(f"phase {self.phase} of a {self.campaign} campaign does not run {self.mechanism}")
        if self.campaign in TWO_PHASE and len(self.schema.attributes) < 2:
            raise PlanError(f"{self.campaign} needs at least two attributes; use spl or smp for a single one")
        if self.campaign == "corr-rr" and len(set(self.schema.sizes)) > 1:
            raise PlanError(
                "corr-rr needs the same number of labels in every attribute, "
                f"the schema has {', '.join(map(str, self.schema.sizes))}; use cond-rr for unequal ones"
            )
        if self.campaign == "cond-rr":
            _check_table_cells(self.schema.sizes)
        if self.learned is not None and self.phase == 1:
            raise PlanError("a first phase is not learned from another")
        needed = PARAMETER.get(self.mechanism)
        for field in PARAMETER.values():
            if (getattr(self, field) is not None) != (field == needed):
                raise PlanError(f"a {self.mechanism} plan must {'have' if field == needed else 'not have'} '{field}'")
        _check_shapes(self)
        _ = self.sampler  # refuses parameters that are not exact probabilities

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan's canonical JSON: its name everywhere else."""
        return wire.digest(msgspec.to_builtins(self))

    @cached_property
    def sampler(self) -> Mechanism:
        """The mechanism that the plan describes, its weights computed here from epsilon and the sizes."""
        return _build(self)

    def dump(self) -> bytes:
        """The plan as a document: its content and its digest."""
        return wire.canonical({**msgspec.to_builtins(self), "digest": self.digest}) + b"\n"


def load_plan(data: bytes | str) -> Plan:
    """A plan from its document; refused if anything in it differs from what its digest says."""
    document = wire.decode_object(data, PlanError, "the plan")
    claimed = document.pop("digest", None)
    plan = wire.convert(document, Plan, PlanError, "the plan")
    if plan.digest != claimed:
        raise PlanError("the plan was edited: its content does not match its digest; get the original again")
    return plan


def design(schema: Schema, epsilon: float, mechanism: MechanismName) -> Plan:
    """The first phase's plan of a campaign with the given mechanism."""
    if mechanism not in MECHANISMS:
        raise PlanError(f"the mechanism must be one of {', '.join(MECHANISMS)}")
    try:
        epsilon = float(epsilon)
    except OverflowError:
        epsilon = math.inf
    return Plan(schema=schema, epsilon=epsilon, campaign=mechanism, phase=1, mechanism=phase_mechanism(mechanism, 1))


def phase_mechanism(campaign: MechanismName, phase: int) -> MechanismName:
    """What a phase of a campaign runs: Phase I of two is always SPL."""
    if campaign in TWO_PHASE:
        return "spl" if phase == 1 else campaign
    if phase == 2:
        raise PlanError(f"a {campaign} campaign has one phase")
    return campaign


def check_epsilon(epsilon: float) -> None:
    """Refuse a budget that is not a finite number in the supported range."""
    if not math.isfinite(epsilon) or epsilon <= 0:
        raise PlanError(f"epsilon must be a finite number above 0, got {epsilon}")
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise PlanError(f"epsilon must be between {SMALLEST_EPSILON:g} and {LARGEST_EPSILON:g}, got {epsilon}")


def _build(plan: Plan) -> Mechanism:
    sizes, epsilon = plan.schema.sizes, Fraction(plan.epsilon)
    match plan.mechanism:
        case "spl":
            return Split.of(sizes, epsilon)
        case "smp":
            return Sample.of(sizes, epsilon)
        case "rs-fd":
            return Pivot.of(sizes, epsilon, uniform_fills(sizes))
        case "rs-rfd":
            return Pivot.of(sizes, epsilon, prior_fills(plan.priors or ()))
        case "corr-rr":
            return Pivot.of(sizes, epsilon, copy_fills(sizes, plan.copy_probability or ()))
        case "cond-rr":
            return Pivot.of(sizes, epsilon, table_fills(plan.conditional_tables or ()))


def _check_shapes(plan: Plan) -> None:
    """Refuse parameters whose shape does not fit the schema."""
    sizes = plan.schema.sizes
    square = (len(sizes),) * len(sizes)
    if plan.priors is not None and _lengths(plan.priors) != sizes:
        raise PlanError("'priors' must give one probability for each label of each attribute")
    if plan.copy_probability is not None:
        if _lengths(plan.copy_probability) != square:
            raise PlanError("'copy_probability' must have a row and a column for each attribute")
        if any(row[own] != 1 for own, row in enumerate(plan.copy_probability)):
            raise PlanError("'copy_probability' must be 1 on its diagonal: an attribute agrees with itself")
    if plan.conditional_tables is not None:
        if _lengths(plan.conditional_tables) != square:
            raise PlanError("'conditional_tables' must have a row and a column for each attribute")
        for pivot, row in enumerate(plan.conditional_tables):
            for other, table in enumerate(row):
                if (table is None) != (pivot == other):
                    raise PlanError("'conditional_tables' must be null on its diagonal and nowhere else")
                if table is not None and _lengths(table) != (sizes[other],) * sizes[pivot]:
                    raise PlanError("a conditional table needs a row for each pivot label, a column for each other one")


def _check_table_cells(sizes: Sequence[int]) -> None:
    """Refuse a schema whose conditional tables would be larger than a plan should carry."""
    cells = sum(sizes) ** 2 - sum(size**2 for size in sizes)
    if cells > MAX_TABLE_CELLS:
        raise PlanError(
            f"cond-rr would need {cells:,} table cells for this schema, at most {MAX_TABLE_CELLS:,} are allowed; "
            "merge labels or use rs-rfd"
        )


def _lengths(rows: Sequence[Sequence[Any]]) -> tuple[int, ...]:
    return tuple(map(len, rows))
