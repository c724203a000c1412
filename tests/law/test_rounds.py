"""A refreshed plan makes the promise of the campaign's first one: law, certificate and audit."""

import pytest

from privtally.documents.campaign import refresh
from privtally.names import MechanismName
from privtally.privacy.audit import audit, audit_campaign
from privtally.privacy.loss import certify, dump_certificate
from privtally.privacy.verify import verify
from tests.support import all_laws, fill_of, first_plan, later_plan


@pytest.mark.parametrize("mechanism", ["smp", "corr-rr"])
def test_a_refresh_has_the_first_plans_law_certificate_and_audit(mechanism: MechanismName) -> None:
    first, fill = first_plan((3, 3), 1.0, mechanism, answers=3), fill_of(mechanism, (3, 3))
    again = refresh([first] if fill is None else [first, later_plan(first, fill)])
    assert all_laws(again.mechanism) == all_laws(first.mechanism)
    verify(again.dump(), dump_certificate(certify(again)))
    alone, both = audit(again), audit_campaign([first, again])
    assert (alone["answers"], alone["total_epsilon"]) == (3, 3.0)
    assert (both["epsilon"], both["realised"]) == (2.0, 2 * alone["realised"])
