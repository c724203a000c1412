"""Looking ahead with normal noise: next to simulated campaigns, and the same noise for all of them."""

import numpy as np
import pytest
from privtally.lab.outlook import Attempt, Draw, Outlook, Surroundings, look_ahead

from privtally.documents.plan import design
from privtally.lab.compare import Study, Variant, study_variant
from privtally.names import MechanismName
from privtally.schema import Records
from tests.support import schema_of

USERS = 4_000


def some_people(sizes: tuple[int, ...], seed: int = 5) -> Records:
    generator = np.random.default_rng(seed)
    laws = [generator.dirichlet(np.full(size, 2.0)) for size in sizes]
    columns = [generator.choice(size, 20_000, p=law) for size, law in zip(sizes, laws, strict=True)]
    return Records(schema_of(sizes), np.column_stack(columns).astype(np.uint8))


@pytest.mark.parametrize(
    ("attempt", "epsilon"),
    [(("spl", None), 1.0), (("smp", None), 1.0), (("rs-fd", None), 2.0), (("corr-rr", 0.1), 2.0)],
)
def test_errors_are_those_of_simulated_campaigns(attempt: Attempt, epsilon: float) -> None:
    """The mean of 300 squared errors, either way, is known to about 5 %; fixed seeds. Half the people are a control."""
    people = some_people((3, 3, 3))
    mechanism, share = attempt
    variant = Variant(mechanism, "robust" if share else None)
    simulated = study_variant(Study(people, share or 0.1, 300, 1, USERS), variant, epsilon, ["pooled"])[0].mse
    (found,) = look_ahead(people, Outlook(USERS, epsilon, 0.5, 300, 2), [attempt])
    (with_half,) = look_ahead(people, Outlook(USERS // 2, epsilon, 0.5, 300, 2), [attempt])
    assert found == pytest.approx(simulated, rel=0.15)
    assert with_half != pytest.approx(simulated, rel=0.15)


@pytest.mark.parametrize("mechanism", ["spl", "smp", "rs-fd"])
def test_answers_that_hang_together_are_no_special_case(mechanism: MechanismName) -> None:
    """Everybody gives the same answer three times: the people who are asked vary together.

    Attributes are pulled together, so that errors are in three directions; the mean of 400 of them, either way, is
    known to about 4 %. Fixed seeds.
    """
    codes = some_people((4,)).codes
    people = Records(schema_of((4, 4, 4)), np.hstack([codes] * 3))
    simulated = study_variant(Study(people, 0.1, 400, 1, USERS), Variant(mechanism), 6.0, ["pooled"])[0].mse
    (found,) = look_ahead(people, Outlook(USERS, 6.0, 0.5, 400, 2), [(mechanism, None)])
    assert found == pytest.approx(simulated, rel=0.15)


@pytest.mark.parametrize("rows", [1, 3, 300])
@pytest.mark.parametrize("epsilon", [0.01, 32.0])
def test_few_people_and_labels_that_nobody_chose_are_no_special_case(rows: int, epsilon: float) -> None:
    people = Records(schema_of((3, 3)), np.resize(np.array([[0, 1], [0, 1], [0, 0]], dtype=np.uint8), (rows, 2)))
    attempts: list[Attempt] = [("spl", None), ("smp", None), ("rs-fd", None), ("corr-rr", 0.2)]
    assert np.isfinite(look_ahead(people, Outlook(40, epsilon, 1.0, 2, 1), attempts)).all()


def test_campaigns_that_tell_the_same_score_the_same_in_every_draw() -> None:
    """At a small budget SPL and RS+FD tell nearly the same of two attributes; another draw is far from both."""
    people = some_people((4, 4))
    attempts: list[Attempt] = [("spl", None), ("rs-fd", None)]
    (one, other), (again, _) = (look_ahead(people, Outlook(200_000, 0.2, 0.5, 1, seed), attempts) for seed in (1, 2))
    assert other == pytest.approx(one, rel=0.1)
    assert again != pytest.approx(one, rel=0.1)


def test_noise_has_the_size_of_the_information() -> None:
    """In units of the information the draws vary by 1 in each direction, within 6 standard errors."""
    people = some_people((2, 3))
    surroundings = Surroundings(people, 1)
    plan = design(people.schema, 1.0, "rs-fd")
    generator = np.random.default_rng(3)
    draws = 4_000
    off = []
    for _ in range(draws):
        seen, asked = surroundings.phase(plan, USERS, Draw(*generator.normal(size=(2, surroundings.directions))))
        off.append(seen.frequencies - surroundings.truth)
        assert asked.sum() == pytest.approx(2)
    inside = np.linalg.cholesky(seen.information + 1e-9 * np.eye(5))
    scaled = np.array(off) @ inside
    expected = inside.T @ np.cov(np.array(off).T) @ inside
    assert np.trace(expected) == pytest.approx(3, abs=6 * np.sqrt(2 * 3 / draws))
    assert np.abs(scaled.mean(axis=0)).max() < 6 / np.sqrt(draws)
