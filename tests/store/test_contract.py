"""What both stores promise."""

from functools import partial
from typing import Any, cast

import pytest

pytest.importorskip("apsw", reason="needs the extra: pip install 'privtally[serve]'")
pytest.importorskip("asyncpg", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.collector.learn import learn
from privtally.collector.tally import tally
from privtally.documents.campaign import State
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan, design
from privtally.errors import CampaignError, UnknownCampaignError
from privtally.lab.seed import seeded
from privtally.store import open_store, surveys
from privtally.store.accept import Arrival, Outcome, accept
from privtally.store.options import Options
from privtally.store.session import Session, Store, StoredReport
from privtally.store.surveys import Survey
from privtally.store.tallies import counts_of, fold, reports_of
from tests.store.people import answered, arrivals, new_survey
from tests.support import first_plan, schema_of

pytestmark = pytest.mark.anyio


async def accepted(store: Store, rows: list[Arrival]) -> list[Outcome]:
    return await store.write(partial(accept, arrivals=rows))


async def counts_in(store: Store, survey: Survey) -> Counts:
    """The counts of the first phase."""
    return await store.read(partial(counts_of, number=survey.plan_numbers[0], plan=survey.plans[0]))


async def found(store: Store, survey: Survey) -> Survey:
    return await store.read(partial(surveys.find, campaign=survey.id))


async def test_a_survey_comes_back_as_it_was_stored(store: Store, address: str) -> None:
    survey = await new_survey(store, Options(people=50, published=True))
    assert await found(store, survey) == survey
    assert survey.campaign.state is State.OPEN
    other = await open_store(address)
    assert await other.read(surveys.every) == [survey]
    await other.close()


async def test_reports_count_once_and_counts_are_those_of_a_tally(store: Store) -> None:
    survey = await new_survey(store)
    reports = answered(survey.plans[0], 300)
    rows = arrivals(survey, reports)
    assert set(await accepted(store, rows[:200])) == {"accepted"}
    assert await accepted(store, rows[100:]) == ["repeated"] * 100 + ["accepted"] * 100
    assert await counts_in(store, survey) == tally(survey.plans[0], reports).counts


async def test_folding_changes_no_count(store: Store) -> None:
    survey = await new_survey(store)
    reports = answered(survey.plans[0], 300)
    rows = arrivals(survey, reports)
    for part in (rows[:100], rows[100:250], []):
        await accepted(store, part)
        await store.write(partial(fold, number=survey.plan_numbers[0], plan=survey.plans[0]))
    await accepted(store, rows[250:])
    assert await counts_in(store, survey) == tally(survey.plans[0], reports).counts
    assert await store.read(partial(reports_of, number=survey.plan_numbers[0])) == 300


async def test_equal_ids_in_one_group_count_once(store: Store) -> None:
    survey = await new_survey(store)
    (one, two) = arrivals(survey, answered(survey.plans[0], 2))
    codes = b"\x00\x01" if one.report.codes != b"\x00\x01" else b"\x01\x00"
    forged = Arrival(survey.number, StoredReport(one.report.plan, one.report.id, codes))
    assert await accepted(store, [one, one, forged, two]) == ["accepted", "repeated", "id_conflict", "accepted"]
    assert (await counts_in(store, survey)).reports == 2


async def test_repetitions_in_one_group_need_no_more_statements(store: Store) -> None:
    survey = await new_survey(store, Options(tokens=True))
    tokens = [bytes([own]) * 32 for own in range(2)]
    await store.write(partial(surveys.add_tokens, campaign=survey.id, hashes=tokens))
    one, two = arrivals(survey, answered(survey.plans[0], 2), tokens)
    forged = one._replace(report=one.report._replace(codes=b"\x00" * len(one.report.codes)))
    assert forged != one
    same_token, unpaid = two._replace(token=tokens[0]), two._replace(token=None)
    group = [one, *[one] * 50, *[forged] * 50, *[same_token] * 50, *[unpaid] * 50, two]
    expected = ["repeated", "id_conflict", "token_spent", "token_missing"]
    calls: list[str] = []

    class Counted:
        def __init__(self, session: Session) -> None:
            self._session = session

        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(self._session, name)

    async def work(session: Session) -> list[Outcome]:
        return await accept(cast(Session, Counted(session)), group)

    outcomes = await store.write(work)
    assert outcomes == ["accepted", *(own for own in expected for _ in range(50)), "accepted"]
    assert len(calls) == len(set(calls)), calls
    assert (await counts_in(store, survey)).reports == 2


async def test_a_closed_campaign_repeats_and_takes_nothing_new(store: Store) -> None:
    survey = await new_survey(store)
    one, two = arrivals(survey, answered(survey.plans[0], 2))
    await accepted(store, [one])
    closed = await store.write(partial(surveys.close, campaign=survey.id))
    assert closed.campaign.state is State.CLOSED
    assert await store.write(partial(surveys.close, campaign=survey.id)) == closed
    assert await accepted(store, [one, two]) == ["repeated", "phase_closed"]


async def test_a_token_is_spent_once_and_asked_after_the_id(store: Store) -> None:
    survey = await new_survey(store, Options(tokens=True))
    tokens = [bytes([own]) * 32 for own in range(3)]
    await store.write(partial(surveys.add_tokens, campaign=survey.id, hashes=tokens[:2]))
    reports = answered(survey.plans[0], 3)
    paid = arrivals(survey, reports, tokens)
    unpaid = arrivals(survey, reports)
    assert await accepted(store, [unpaid[0], paid[0], paid[2]]) == ["token_missing", "accepted", "token_missing"]
    stolen = paid[1]._replace(token=tokens[0])
    assert await accepted(store, [unpaid[0], stolen]) == ["repeated", "token_spent"]
    twice = paid[2]._replace(token=tokens[1])
    assert await accepted(store, [paid[1], twice]) == ["accepted", "token_spent"]
    assert (await counts_in(store, survey)).reports == 2


async def test_a_refusal_does_not_concern_reports_that_are_stored(store: Store) -> None:
    survey = await new_survey(store)
    one, two = arrivals(survey, answered(survey.plans[0], 2))
    await accepted(store, [one])
    refused = [row._replace(refusal_if_new="wrong_plan") for row in (one, two)]
    assert await accepted(store, refused) == ["repeated", "wrong_plan"]


async def test_the_first_plan_that_is_published_wins(store: Store) -> None:
    survey = await new_survey(store)
    reports = answered(survey.plans[0], 200)
    await accepted(store, arrivals(survey, reports))
    history = [(survey.plans[0], await counts_in(store, survey))]
    one, two = learn(history, people=500), learn(history, people=900)
    for plan in (one, two):
        after: Plan = await store.write(partial(surveys.publish, campaign=survey.id, plan=plan, history=history))
        assert after.digest == one.digest
    later = await found(store, survey)
    assert [plan.digest for plan in later.plans] == [survey.id, one.digest]
    assert later.campaign.open_plan == one
    late = arrivals(later, answered(survey.plans[0], 5, seed=9))
    assert await accepted(store, late) == ["accepted"] * 5


async def test_only_a_closed_campaign_is_deleted(store: Store) -> None:
    survey = await new_survey(store)
    other = await new_survey(store, plan=first_plan((2, 2), 1.0, "smp"))
    for own in (survey, other):
        await accepted(store, arrivals(own, answered(own.plans[0], 5)))
    with pytest.raises(CampaignError):
        await store.write(partial(surveys.delete, campaign=survey.id))
    await store.write(partial(surveys.close, campaign=survey.id))
    await store.write(partial(surveys.delete, campaign=survey.id))
    with pytest.raises(UnknownCampaignError):
        await found(store, survey)
    assert await store.read(surveys.every) == [other]
    late = arrivals(survey, answered(survey.plans[0], 2))
    assert await accepted(store, late) == ["phase_closed"] * 2
    assert (await counts_in(store, other)).reports == 5


async def test_work_that_fails_leaves_nothing(store: Store) -> None:
    survey = await new_survey(store)
    rows = arrivals(survey, answered(survey.plans[0], 5))

    async def fails(session: Session) -> None:
        await accept(session, rows)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await store.write(fails)
    assert (await counts_in(store, survey)).reports == 0


async def test_rewriting_keeps_everything(store: Store) -> None:
    survey = await new_survey(store, Options(tokens=True))
    tokens = [bytes([own]) * 32 for own in range(20)]
    await store.write(partial(surveys.add_tokens, campaign=survey.id, hashes=tokens))
    rows = arrivals(survey, answered(survey.plans[0], 20), tokens)
    for row in rows:
        await accepted(store, [row])
    await store.rewrite()
    assert await accepted(store, rows) == ["repeated"] * 20
    assert (await counts_in(store, survey)).reports == 20


async def test_settings_change(store: Store) -> None:
    assert await store.read(partial(surveys.setting, name="admin")) is None
    for value in ("one", "two"):
        await store.write(partial(surveys.change_setting, name="admin", value=value))
        assert await store.read(partial(surveys.setting, name="admin")) == value


async def test_large_alphabets_survive_packing(store: Store) -> None:
    plan = first_plan((2, 700), 1.0, "smp")
    survey = await new_survey(store, plan=plan)
    reports = answered(plan, 50)
    await accepted(store, arrivals(survey, reports))
    assert await counts_in(store, survey) == tally(plan, reports).counts
    assert plan.schema == schema_of((2, 700))


async def test_the_plans_of_many_campaigns_are_read_once(store: Store) -> None:
    source = seeded(1)
    for _ in range(300):
        plan = design(schema_of((3, 3)), 1.0, "spl", source=source)
        await store.write(partial(surveys.create, title="One of many", plan=plan, options=Options()))
    first, again = await store.read(surveys.every), await store.read(surveys.every)
    assert len(first) == 300
    assert all(one.plans[0] is two.plans[0] for one, two in zip(first, again, strict=True))


def test_plans_are_kept_as_long_as_their_documents_have_room() -> None:
    source = seeded(1)
    one, two, three = (design(schema_of((3, 3)), 1.0, "spl", source=source) for _ in range(3))
    kept = surveys.KeptPlans(2 * len(one.dump()))
    for plan in (one, two, two):
        kept.keep(plan)
    assert kept.find(one.digest) is one
    kept.keep(three)
    assert [kept.find(plan.digest) for plan in (one, two, three)] == [one, None, three]
    kept.keep(design(schema_of((200, 200)), 1.0, "spl", source=source))
    assert [kept.find(plan.digest) for plan in (one, two, three)] == [None, None, None]
