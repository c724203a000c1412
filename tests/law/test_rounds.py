"""A refreshed plan makes the promise of the campaign's first one: law, epsilon, sampler, certificate and audit."""

from fractions import Fraction

import numpy as np
import pytest

from privtally.documents.campaign import refresh
from privtally.documents.plan import Plan
from privtally.lab.seed import seeded
from privtally.names import MECHANISMS, MechanismName
from privtally.participant.respond import respond_many
from privtally.privacy.audit import audit, audit_campaign
from privtally.privacy.certificate import certify, dump_certificate
from privtally.privacy.verify import verify
from privtally.schema import Records
from tests.support import all_laws, chi_square_p, exp_below, fill_of, first_plan, later_plan, worst_ratio

SIZES, RECORD = (3, 3), (2, 0)


def refreshed(mechanism: MechanismName) -> tuple[Plan, Plan]:
    """The first plan of a campaign, and that of its second round."""
    first = first_plan(SIZES, 1.0, mechanism, answers=3)
    fill = fill_of(mechanism, SIZES)
    return first, refresh([first] if fill is None else [first, later_plan(first, fill)])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_refresh_has_the_first_plans_law(mechanism: MechanismName) -> None:
    first, again = refreshed(mechanism)
    laws = all_laws(again.sampler)
    assert laws == all_laws(first.sampler)
    assert worst_ratio(list(laws.values())) <= exp_below(Fraction(1))
    records = Records(again.schema, np.tile(np.array([RECORD], dtype=np.uint8), (20_000, 1)))
    assert chi_square_p(respond_many(again, records, seeded(3)).codes, laws[RECORD]) > 1e-9


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_verifier_and_audit_take_a_refresh(mechanism: MechanismName) -> None:
    first, again = refreshed(mechanism)
    verify(again.dump(), dump_certificate(certify(again)))
    alone = audit(again)
    assert (alone["answers"], alone["total_epsilon"]) == (3, 3.0)
    both = audit_campaign([first, again])
    assert both["epsilon"] == 2.0
    assert both["realised"] == 2 * alone["realised"]
