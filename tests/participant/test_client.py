"""The participant's HTTP client: one report, the same bytes until they count."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import OpenerDirector

import pytest

from privtally.documents.campaign import refresh
from privtally.documents.plan import Plan
from privtally.documents.report import load_report
from privtally.errors import CampaignError, LedgerError, SendingError
from privtally.participant.client import ATTEMPTS, LONGEST_WAIT, Participant, usual_ledger
from privtally.participant.ledger import report_to_send
from tests.participant.collector import DROP, Scripted, collecting
from tests.support import first_plan, later_plan, plan_of

PLAN = first_plan((3, 3), 1.0, "corr-rr")
TWICE = first_plan((3, 3), 1.0, "corr-rr", answers=2)
ANSWERS = {"q0": "a1", "q1": "a2"}


@pytest.fixture(autouse=True)
def directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def collector() -> Iterator[Scripted]:
    with collecting(Scripted(PLAN)) as script:
        yield script


class Person:
    """A participant who notes waits instead of waiting."""

    def __init__(self, collector: Scripted, folder: Path, **fields: object) -> None:
        self.waits: list[float] = []
        self.told: list[str] = []
        self.participant = Participant(
            collector.url,
            folder / "ledger.json",
            wait=self.waits.append,
            tell=self.told.append,
            **fields,  # type: ignore[arg-type]
        )


def test_a_report_is_sent_once_where_all_is_well(collector: Scripted, tmp_path: Path) -> None:
    person = Person(collector, tmp_path, token="secret")
    report = person.participant.answer(ANSWERS)
    assert [load_report(body) for body in collector.received] == [report]
    assert report_to_send(person.participant.ledger, PLAN.digest) == report
    for request in collector.requests:
        assert request.headers["Privtally-Token"] == "secret"
        assert request.headers["User-Agent"] == "privtally"
    assert (person.waits, person.told) == ([], [])


@pytest.mark.parametrize("given", [{}, {"token": "other"}])
def test_the_link_that_was_sent_is_enough(collector: Scripted, tmp_path: Path, given: dict[str, str]) -> None:
    collector.url = collector.url.replace("/v1/campaigns/", "/s/") + "#in-the-link"
    person = Person(collector, tmp_path, **given)
    report = person.participant.answer(ANSWERS)
    assert [load_report(body) for body in collector.received] == [report]
    assert {request.headers["Privtally-Token"] for request in collector.requests} == {given.get("token", "in-the-link")}
    address = f"/v1/campaigns/{PLAN.campaign_id}"
    assert [request.path for request in collector.requests] == [
        f"{address}/{own}" for own in ("plans", "plan", "reports")
    ]


def test_the_same_bytes_are_sent_until_they_count(collector: Scripted, tmp_path: Path) -> None:
    collector.statuses = [DROP, 503, 502, DROP]
    person = Person(collector, tmp_path)
    person.participant.answer(ANSWERS)
    assert len(collector.received) == 5
    assert len(set(collector.received)) == 1
    assert person.waits == [0.5, 7.0, 14.0, 28.0]
    assert [f" {wait:g} " in said for wait, said in zip(person.waits, person.told, strict=True)] == 4 * [True]


def test_a_participant_who_gave_up_sends_the_same_report_later(collector: Scripted, tmp_path: Path) -> None:
    collector.statuses = [DROP] * ATTEMPTS
    person = Person(collector, tmp_path)
    with pytest.raises(SendingError):
        person.participant.answer(ANSWERS)
    assert max(person.waits) <= LONGEST_WAIT
    # By then the campaign may have gone on, and the person may have changed their mind.
    collector.plan = phases(PLAN)[1]
    report = person.participant.answer({"q0": "a0", "q1": "a0"})
    assert report.plan == PLAN.digest
    assert set(collector.received) == {report.dump()}


@pytest.mark.parametrize(
    ("status", "reason", "problem"), [(200, "phase_closed", None), (404, None, "urn:privtally:unknown-campaign")]
)
def test_a_refusal_ends_it_and_keeps_the_report(
    collector: Scripted, tmp_path: Path, status: int, reason: str | None, problem: str | None
) -> None:
    collector.statuses, collector.reason, collector.problem = [status], reason, problem
    person = Person(collector, tmp_path)
    with pytest.raises(SendingError) as refusal:
        person.participant.answer(ANSWERS)
    assert "a1" not in str(refusal.value)
    assert len(collector.received) == 1
    assert report_to_send(person.participant.ledger, PLAN.digest) is not None


@pytest.mark.parametrize("status", [302, 400, 403, 408, 429, 500])
def test_what_the_collector_did_not_say_itself_ends_nothing(collector: Scripted, tmp_path: Path, status: int) -> None:
    collector.statuses = [status]
    person = Person(collector, tmp_path)
    report = person.participant.answer(ANSWERS)
    assert collector.received == [report.dump()] * 2


def phases(first: Plan) -> list[Plan]:
    """The plans of both phases of round 1, and of the first phase of round 2."""
    fill = plan_of("corr-rr", (3, 3)).parts[0].fill
    assert fill is not None
    second = later_plan(first, fill)
    return [first, second, refresh([first, second])]


def test_a_report_that_may_not_have_arrived_is_sent_before_another_is_drawn(tmp_path: Path) -> None:
    with collecting(Scripted(TWICE)) as collector:
        collector.statuses = [DROP] * ATTEMPTS
        person = Person(collector, tmp_path)
        with pytest.raises(SendingError):
            person.participant.answer(ANSWERS)
        *_, collector.plan = phases(TWICE)
        assert person.participant.answer(ANSWERS).plan == TWICE.digest
        assert len(set(collector.received)) == 1
        assert person.participant.answer(ANSWERS).plan == collector.plan.digest


def test_a_round_is_answered_once_whatever_its_phase(tmp_path: Path) -> None:
    with collecting(Scripted(TWICE)) as collector:
        person, answered = Person(collector, tmp_path), []
        for collector.plan in phases(TWICE):
            answered.append(person.participant.answer(ANSWERS).plan)
        assert answered == [TWICE.digest, TWICE.digest, collector.plan.digest]
        assert len(set(collector.received)) == 2


def test_nothing_is_drawn_for_too_large_a_budget_or_another_campaign(collector: Scripted, tmp_path: Path) -> None:
    with pytest.raises(LedgerError):
        Person(collector, tmp_path, most_epsilon=0.5).participant.answer(ANSWERS)
    collector.plan = first_plan((3, 3), 2.0, "corr-rr")
    with pytest.raises(CampaignError, match="'campaign'"):
        Person(collector, tmp_path).participant.answer(ANSWERS)
    assert collector.received == []
    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/v1/campaigns/" + "0" * 64,
        "https://example.org/",
        "ftp://localhost/" + "0" * 64,
        "https://[example/s/" + "0" * 64,
        "https://example.org/ä/s/" + "0" * 64,
        "https://example.org/s/" + "0" * 64 + "#to…ken",
        "",
    ],
)
def test_addresses_that_cannot_be_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(SendingError):
        Participant(url, tmp_path / "ledger.json")


def test_a_ledger_that_cannot_be_made_is_refused_before_anything_is_asked(collector: Scripted, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    person = Person(collector, tmp_path / "file" / "folder")
    with pytest.raises(LedgerError, match="directory"):
        person.participant.answer(ANSWERS)
    assert collector.requests == []


def test_a_certificate_that_cannot_be_trusted_is_not_tried_again(
    collector: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def distrust(*_: object, **__: object) -> None:
        raise URLError(ssl.SSLCertVerificationError("self-signed"))

    monkeypatch.setattr(OpenerDirector, "open", distrust)
    person = Person(collector, tmp_path)
    with pytest.raises(SendingError, match="certificate"):
        person.participant.answer(ANSWERS)
    assert person.waits == []


def test_a_proxy_is_asked_where_there_is_one(
    collector: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, _, path = collector.url.partition("/v1/")
    monkeypatch.setenv("http_proxy", proxy)
    collector.url = f"http://localhost:1/v1/{path}"
    report = Person(collector, tmp_path).participant.answer(ANSWERS)
    assert collector.received == [report.dump()]
    assert {request.path.partition("/v1/")[0] for request in collector.requests} == {"http://localhost:1"}


def test_fields_keep_their_places(tmp_path: Path) -> None:
    link, ledger = f"https://example.org/s/{PLAN.digest}", tmp_path / "ledger.json"
    waits: list[float] = []
    participant = Participant(link, ledger, 2.0, "secret", waits.append, print)
    assert participant == Participant(
        link, ledger, most_epsilon=2.0, token="secret", wait=participant.wait, tell=print, clock=participant.clock
    )
    assert (participant.device_cap, participant.trust) == (None, False)


@pytest.mark.parametrize("resource", ["plan", "plans"])
def test_nothing_is_said_to_be_kept_where_nothing_was_drawn(collector: Scripted, tmp_path: Path, resource: str) -> None:
    collector.raw = {resource: b"HTTP/1.1 503 Service Unavailable\r\n\r\n"}
    with pytest.raises(SendingError, match=f"did not answer {ATTEMPTS} times; nothing was drawn, so try again later"):
        Person(collector, tmp_path).participant.answer(ANSWERS)
    collector.raw = {"reports": collector.raw[resource]}
    with pytest.raises(SendingError, match=f"did not answer {ATTEMPTS} times; the report is kept"):
        Person(collector, tmp_path).participant.answer(ANSWERS)


def test_without_a_home_the_ledger_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(LedgerError, match="--ledger"):
        usual_ledger()


def test_the_usual_ledger_lies_in_the_persons_own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert usual_ledger() == tmp_path / "privtally" / "ledger.json"
