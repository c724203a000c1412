"""Synthetic tables have the estimate's margins and the tables of the kept pairs, and keep no pair without cause."""

from itertools import combinations

import numpy as np
import pytest

from privtally.campaign import run
from privtally.collector import pairs
from privtally.collector import synthetic as module
from privtally.collector.estimate import estimate
from privtally.collector.pairs import estimate_pair
from privtally.collector.synthetic import Synthetic, going_together, synthetic
from privtally.collector.tally import count_times
from privtally.documents.campaign import History
from privtally.documents.counts import distinct
from privtally.documents.plan import design
from privtally.errors import EstimateError
from privtally.exact.types import Codes
from privtally.lab.population import seeded
from privtally.lab.simulate import simulate
from privtally.names import MechanismName
from privtally.schema import Records, Schema

SIZES = (3, 2, 4, 3)


def schema_of(sizes: tuple[int, ...] = SIZES) -> Schema:
    return Schema.of({f"q{own}": [f"a{code}" for code in range(size)] for own, size in enumerate(sizes)})


def people(
    generator: np.random.Generator, *, together: float, sizes: tuple[int, ...] = SIZES, number: int = 20_000
) -> Codes:
    """Answers that are, for this share of people, what the answer to the question before says."""
    codes = np.column_stack([generator.choice(size, number, p=generator.dirichlet(np.full(size, 5))) for size in sizes])
    for own in range(1, len(sizes)):
        same = generator.random(number) < together
        codes[same, own] = codes[same, own - 1] % sizes[own]
    return codes.astype(np.uint8)


def campaign(
    codes: Codes,
    generator: np.random.Generator,
    epsilon: float = 4.0,
    mechanism: MechanismName = "pairs",
    pivots: int = 1,
) -> History:
    schema = schema_of(tuple((codes.max(axis=0) + 1).tolist()))
    plan = design(schema, epsilon, mechanism, pivots=pivots, source=seeded(1))
    reports = simulate(plan.mechanism, distinct(schema.sizes, codes, np.ones(len(codes), dtype=np.int64)), generator)
    return [(plan, count_times(plan, reports.codes, reports.times))]


def dependent(epsilon: float = 4.0, mechanism: MechanismName = "pairs", pivots: int = 1) -> History:
    generator = np.random.default_rng(1)
    return campaign(people(generator, together=0.6), generator, epsilon, mechanism, pivots)


def kept(made: Synthetic) -> list[tuple[str, str]]:
    return [link.attributes for link in made.synthesis.kept]


def pair_counts(made: Synthetic, names: tuple[str, str]) -> np.ndarray:
    one, two = (made.schema.names.index(name) for name in names)
    counts = np.zeros((made.schema.sizes[one], made.schema.sizes[two]))
    np.add.at(counts, (made.codes[:, one], made.codes[:, two]), 1)
    return counts


@pytest.mark.parametrize("way", ["fitted", "tree"])
@pytest.mark.parametrize(("mechanism", "pivots"), [("pairs", 1), ("spl", 1), ("smp", 2)])
def test_rows_have_the_tables_of_the_estimate(
    way: str, mechanism: MechanismName, pivots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To within rounding: of each cell of a record, or of a table given the column before it."""
    history, rows = dependent(8.0, mechanism, pivots), 100_000
    if way == "tree":
        monkeypatch.setattr(module, "MOST_CELLS", 1)
    made = synthetic(history, rows, seeded(2))
    assert made.synthesis.way == way
    assert len(kept(made)) >= 3
    shares = estimate(history).attributes
    for own, column in zip(made.schema.attributes, made.codes.T, strict=True):
        counts = np.bincount(column, minlength=own.size)
        assert np.abs(counts - rows * np.array(shares[own.name].frequencies)).max() < 36
    for names in kept(made):
        table = np.array(estimate_pair(history, *names).frequencies)
        assert np.abs(pair_counts(made, names) - rows * table).max() < (12 if way == "tree" else 36)
    assert np.abs(pair_counts(made, ("q0", "q1")) - rows * np.full((3, 2), 1 / 6)).max() > 1_000  # a control


def test_what_is_not_kept_is_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEVEL", -1.0)
    history, rows = dependent(), 100_000
    made = synthetic(history, rows, seeded(1))
    assert (made.synthesis.way, kept(made)) == ("independent", [])
    for names in combinations(made.schema.names, 2):
        counts = pair_counts(made, names)
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows
        assert np.abs(counts - expected).max() < 6 * np.sqrt(expected.max())  # a chance of 1e-9 each
    named = synthetic(history, rows, seeded(1), keep=[("q2", "q0")])
    assert kept(named) == [("q0", "q2")]
    table = np.array(estimate_pair(history, "q0", "q2").frequencies)
    assert np.abs(pair_counts(named, ("q0", "q2")) - rows * table).max() < 12


@pytest.mark.parametrize(
    ("mechanism", "pivots", "epsilon"), [("pairs", 1, 1.0), ("pairs", 1, 4.0), ("spl", 1, 4.0), ("smp", 2, 4.0)]
)
def test_pairs_are_supported_with_cause(mechanism: MechanismName, pivots: int, epsilon: float) -> None:
    """Some pair is supported in 5 of 100 campaigns at most where answers are independent: more than 20 have a chance of
    2e-8. People whose answers go together are the control.
    """
    generator, found = np.random.default_rng(3), 0
    for _ in range(100):
        history = campaign(people(generator, together=0, number=5_000), generator, epsilon, mechanism, pivots)
        found += bool(kept(synthetic(history, 1, seeded(1))))
    assert found <= 20
    history = campaign(people(generator, together=0.9), generator, epsilon, mechanism, pivots)
    assert ("q0", "q1") in kept(synthetic(history, 1, seeded(1)))


def test_information_is_that_of_the_people() -> None:
    """Without the correction the mean would be larger by the correction itself, here twice the truth or more."""
    generator, found, truth = np.random.default_rng(4), [], []
    for _ in range(30):
        codes = people(generator, together=0.5, sizes=(3, 3), number=50_000)
        table = np.zeros((3, 3))
        np.add.at(table, tuple(codes.T), 1 / len(codes))
        product = np.outer(table.sum(axis=1), table.sum(axis=0))
        truth.append(float(np.sum(table * np.log(table / product))))
        (link,) = synthetic(campaign(codes, generator, 1.0), 1, seeded(1), keep=[("q0", "q1")]).synthesis.kept
        found.append(link.information)
    assert np.mean(found) == pytest.approx(np.mean(truth), rel=0.1)


def test_replicates_spread_as_campaigns_do() -> None:
    """25 campaigns of the same people, a fixed seed: cells of a kept table within a third."""
    generator = np.random.default_rng(5)
    codes = people(generator, together=0.5)
    names, rows = ("q0", "q1"), 20_000
    shares, spread = [], []
    for _ in range(25):
        made = synthetic(campaign(codes, generator, 2.0), rows, seeded(1), keep=[names], replicates=20)
        shares.append(pair_counts(made, names) / rows)
        spread.append(np.std([pair_counts(each, names) / rows for each in made.replicates], axis=0))
    seen, said = np.std(shares, axis=0), np.mean(spread, axis=0)
    assert np.sqrt(np.mean(said**2)) == pytest.approx(np.sqrt(np.mean(seen**2)), rel=0.33)


def test_the_same_seed_makes_the_same_people() -> None:
    history = dependent()
    one, two, other = (synthetic(history, 500, seeded(seed), replicates=1) for seed in (1, 1, 2))
    assert one.to_csv() == two.to_csv()
    assert one.replicates[0].to_csv() == two.replicates[0].to_csv() != one.to_csv()
    assert one.to_csv() != other.to_csv()


def test_a_campaign_without_pairs_gives_independent_columns_and_says_so() -> None:
    made = synthetic(dependent(4.0, "smp"), 1_000, seeded(1), replicates=2)
    assert "every column by itself, as no report answers two questions" in str(made.synthesis)
    assert made.synthesis.carried == 0
    with pytest.raises(EstimateError, match="say nothing about 'q0' and 'q1' together"):
        synthetic(dependent(4.0, "smp"), 10, seeded(1), keep=[("q0", "q1")])


def test_what_cannot_be_made_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    history = dependent()
    with pytest.raises(EstimateError, match="1 to 10,000,000 rows"):
        synthetic(history, 0, seeded(1))
    with pytest.raises(EstimateError, match="up to 500 replicates"):
        synthetic(history, 1, seeded(1), replicates=501)
    with pytest.raises(EstimateError, match="needs two questions, got 3"):
        synthetic(history, 1, seeded(1), keep=[("q0", "q1", "q2")])
    with pytest.raises(EstimateError, match="there is no question 'age'"):
        synthetic(history, 1, seeded(1), keep=[("q0", "age")])
    monkeypatch.setattr(module, "MOST_CELLS", 1)
    with pytest.raises(EstimateError, match="form a ring"):
        synthetic(history, 1, seeded(1), keep=[("q0", "q1"), ("q1", "q2"), ("q0", "q2")])
    monkeypatch.setattr(module, "MOST_LABELS", 3)
    with pytest.raises(EstimateError, match="replicates need questions with at most 3 answers"):
        synthetic(history, 1, seeded(1), replicates=1)
    monkeypatch.setattr(pairs, "MOST_JOINT_CELLS", 3)
    with pytest.raises(EstimateError, match="too many answers for a table to keep"):
        synthetic(history, 1, seeded(1), keep=[("q0", "q1")])


@pytest.mark.parametrize(("one", "two"), [("q0", "q2"), ("q0", "q3")])
def test_a_pair_may_be_named_in_any_order(one: str, two: str) -> None:
    history = dependent()
    there, back = estimate_pair(history, one, two), estimate_pair(history, two, one)
    assert np.array(there.frequencies) == pytest.approx(np.array(back.frequencies).T)
    assert np.array(there.standard_errors) == pytest.approx(np.array(back.standard_errors).T)


def test_a_sentence_has_the_shares_of_its_table() -> None:
    history = dependent()
    table = np.array(estimate_pair(history, "q0", "q1").frequencies)
    people, others = table.sum(axis=1, keepdims=True), 1 - table.sum(axis=1, keepdims=True)
    among, against = 100 * table / people, 100 * (table.sum(axis=0) - table) / others
    said = {
        f"People who say 'q0: a{one}' more often say 'q1: a{two}': {among[one, two]:.0f} % against "
        f"{against[one, two]:.0f} %."
        for one, two in np.ndindex(3, 2)
        if among[one, two] > against[one, two]
    }
    assert said & {*going_together(history)}
    assert going_together(dependent(4.0, "smp")) == []


def test_a_result_makes_frames_of_its_library() -> None:
    pandas = pytest.importorskip("pandas")
    answers = pandas.DataFrame({"smokes": ["no", "yes"] * 1_000, "drinks": ["never", "daily"] * 1_000})
    schema = Schema.of({"smokes": ["no", "yes"], "drinks": ["never", "daily"]})
    result = run(answers, schema, 4.0, mechanism="pairs", source=seeded(1))
    frame = result.synthetic(300, source=seeded(2))
    assert isinstance(frame, pandas.DataFrame)
    assert frame.shape == (300, 2)
    assert (frame["smokes"].eq("yes") == frame["drinks"].eq("daily")).mean() > 0.9
    records = Records(schema, np.tile(np.array([[0, 0], [1, 1]], dtype=np.uint8), (1_000, 1)))  # of no library
    columns = run(records, schema, 4.0, mechanism="pairs", source=seeded(1)).synthetic(7)
    assert [len(column) for column in columns.values()] == [7, 7]


def test_tables_that_contradict_each_other_are_no_ring() -> None:
    """Of three people exactly one says no, so that noisy tables of the three questions may have no common table; single
    questions hold in any case.
    """
    codes = 1 - np.eye(3, dtype=np.uint8)[np.random.default_rng(2).integers(3, size=3_000)]
    names = [("q0", "q1"), ("q0", "q2"), ("q1", "q2")]
    ended = set()
    for seed in range(12):
        history = campaign(codes, np.random.default_rng(seed), epsilon=1.0)
        try:
            made = synthetic(history, 20_000, seeded(1), keep=names)
        except EstimateError as refusal:
            ended.add(str(refusal).partition("these tables ")[2])
            continue
        ended.add(made.synthesis.way)
        for place, own in enumerate(estimate(history).attributes.values()):
            assert np.bincount(made.codes[:, place], minlength=2) / 20_000 == pytest.approx(own.frequencies, abs=0.005)
    assert ended == {"fitted", "contradict each other; keep fewer"}
