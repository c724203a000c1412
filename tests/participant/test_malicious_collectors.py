"""Whatever a collector hands out, whether a device speaks, when and where to do not depend on the answers."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from privtally.documents.plan import Plan, load_plan
from privtally.documents.report import load_report
from privtally.errors import PrivtallyError
from privtally.participant.client import ATTEMPTS, Participant
from privtally.participant.respond import encode, respond
from tests.participant.collector import DROP, Request, Scripted, collecting, published
from tests.participant.malicious import FIRST, MALICE, RECORDS, SECOND, Malice

TRIES = 3
Answer = Callable[[Participant, Mapping[str, str]], Any]


@dataclass
class Malicious(Scripted):
    """Hands out what malice says, visit by visit."""

    malice: Malice | None = None
    visits: int = 0

    def document(self, resource: str) -> bytes:
        assert self.malice is not None
        opened = self.malice.opened[min(self.visits, len(self.malice.opened) - 1)]
        self.visits += resource == "plan"
        return opened if resource == "plan" else self.malice.listed(opened)


@pytest.fixture(autouse=True)
def directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@contextmanager
def attacked(malice: Malice, folder: Path) -> Iterator[tuple[Malicious, Participant]]:
    with collecting(Malicious(malice.pinned, malice=malice)) as collector:
        yield collector, Participant(collector.url, folder / "ledger.json", wait=lambda _: None)


def heard(malice: Malice, record: Mapping[str, str], folder: Path, answer: Answer) -> list[Any]:
    """What a collector hears of a person with this record who tries a few times, and what the person is told."""
    folder.mkdir()
    with attacked(malice, folder) as (collector, participant):
        said = []
        for _ in range(TRIES):
            try:
                said.append(load_report(answer(participant, record).dump()).plan)
            except PrivtallyError as refusal:
                said.append(f"{type(refusal).__name__}: {refusal}")
        sent = [load_report(body).plan for body in collector.received]
        return [requests_to(collector), sent, said, sorted(file.name for file in folder.iterdir())]


def requests_to(collector: Scripted) -> list[Request]:
    """All requests, without the collector's port and the length of a report, whose codes are drawn."""
    return [
        each._replace(headers={name: each.headers[name] for name in each.headers if name not in VARYING})
        for each in collector.requests
    ]


VARYING = ("Content-Length", "Host")


def by_the_book(participant: Participant, record: Mapping[str, str]) -> Any:
    return participant.answer(record)


def trusting(participant: Participant, record: Mapping[str, str]) -> Any:
    """A client that encodes by whatever plan it is handed."""
    with urlopen(f"{participant.address}/plan") as offered:
        plan = load_plan(offered.read())
    report = respond(plan, encode(plan.schema, record))
    with urlopen(f"{participant.address}/reports", report.dump()):
        return report


@pytest.mark.parametrize("name", MALICE)
def test_a_malicious_collector_hears_nothing(name: str, tmp_path: Path) -> None:
    malice = MALICE[name]
    all_heard = [heard(malice, record, tmp_path / str(own), by_the_book) for own, record in enumerate(RECORDS)]
    assert all(each == all_heard[0] for each in all_heard)
    _, sent, said, files = all_heard[0]
    assert (sent, files) == ([], [])
    assert all(malice.broken is None or f"'{malice.broken}'" in each for each in said), said
    assert not any(label in each for each in said for label in ("never", "daily", "now and then"))


def test_a_client_that_trusts_the_collectors_questions_would_tell(tmp_path: Path) -> None:
    malice = MALICE["questions that change between tries"]
    all_heard = [heard(malice, record, tmp_path / str(own), trusting) for own, record in enumerate(RECORDS)]
    assert len({tuple(sent) for _, sent, *_ in all_heard}) == 3  # one for each answer to the first question


def test_a_client_whose_reading_depends_on_the_answers_would_tell(tmp_path: Path) -> None:
    """A control: nothing is sent, and what is read differs in a header."""

    def marked(participant: Participant, record: Mapping[str, str]) -> Any:
        return replace(participant, token=record["smokes"].replace(" ", "-")).answer(record)

    malice = MALICE["a larger budget"]
    one, *_, other = (heard(malice, record, tmp_path / str(own), marked) for own, record in enumerate(RECORDS))
    assert one[1:] == other[1:]
    assert one != other


def test_the_first_plan_needs_no_second_look_at_the_list(tmp_path: Path) -> None:
    malice = plan_offered(FIRST)
    with attacked(malice, tmp_path) as (collector, participant):
        participant.answer(RECORDS[0])
        assert [request.resource for request in collector.requests] == ["plans", "plan", "reports"]


@pytest.mark.parametrize("statuses", [[DROP, 500, 302], [DROP] * ATTEMPTS, [403]], ids=str)
def test_refused_and_lost_reports_are_sent_alike_whatever_the_answers(statuses: list[int], tmp_path: Path) -> None:
    """What differs between people is the report alone, which is drawn by the pinned plan's law."""

    def paths(record: Mapping[str, str], folder: Path) -> list[Any]:
        folder.mkdir()
        waits: list[float] = []
        with collecting(Scripted(FIRST, list(statuses))) as collector:
            participant = Participant(collector.url, folder / "ledger.json", wait=waits.append)
            said = []
            for _ in range(TRIES):
                try:
                    said.append(participant.answer(record).plan)
                except PrivtallyError as refusal:
                    said.append(str(refusal))
            assert len(set(collector.received)) == 1
            return [requests_to(collector), [load_report(body).plan for body in collector.received], waits, said]

    all_heard = [paths(record, tmp_path / str(own)) for own, record in enumerate(RECORDS)]
    assert all(each == all_heard[0] for each in all_heard)


@pytest.mark.parametrize("resource", ["plan", "plans"])
def test_a_reply_that_does_not_end_is_given_up(resource: str, tmp_path: Path) -> None:
    class Dripping(Scripted):
        def document(self, asked: str) -> bytes:
            return super().document(asked) + b" " * (1 << 20) * (asked == resource)

    def told(record: Mapping[str, str], folder: Path) -> str:
        folder.mkdir()
        now = iter(range(0, 1 << 40, 60))
        with collecting(Dripping(FIRST)) as collector:
            participant = Participant(
                collector.url, folder / "ledger.json", wait=lambda _: None, clock=lambda: float(next(now))
            )
            with pytest.raises(PrivtallyError, match="did not answer") as refusal:
                participant.answer(record)
            assert collector.received == []
            return str(refusal.value)

    assert len({told(record, tmp_path / str(own)) for own, record in enumerate(RECORDS)}) == 1


LONG = b"x" * 60_000
"""More than a client takes from a connection at once, several times."""
SLOW = {
    "head": b"HTTP/1.1 200 OK\r\n" + 9 * (b"Slow: " + LONG + b"\r\n") + b"\r\n" + published([FIRST]),
    "chunk extension": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x;%b\r\n%b\r\n0\r\n\r\n"
    % (len(published([FIRST])), LONG, published([FIRST])),
    "trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n%b\r\n"
    % (len(published([FIRST])), published([FIRST]), 9 * (b"Slow: " + LONG + b"\r\n")),
    "refusal": b'HTTP/1.1 403 Forbidden\r\n\r\n{"detail":"slow"%b}' % (b" " * len(LONG)),
}


@pytest.mark.parametrize(
    ("slow", "said"), [(slow, "status 403$" if slow == "refusal" else "not answer") for slow in SLOW]
)
def test_time_runs_out_in_every_part_of_a_reply(slow: str, said: str, tmp_path: Path) -> None:
    times = iter(range(0, 1 << 40, 200))  # which go by with every look at the clock
    with collecting(Scripted(FIRST, raw={"plans": SLOW[slow]})) as collector:
        person = Participant(
            collector.url, tmp_path / "ledger.json", wait=lambda _: None, clock=lambda: float(next(times))
        )
        with pytest.raises(PrivtallyError, match=said):
            person.answer(RECORDS[0])
        in_time = Participant(collector.url, tmp_path / "ledger.json", wait=lambda _: None)
        if slow == "refusal":
            with pytest.raises(PrivtallyError, match="status 403: slow"):
                in_time.answer(RECORDS[0])
        else:
            assert in_time.answer(RECORDS[0]).plan == FIRST.digest


NESTED = b'{"a":' * 100_000


@pytest.mark.parametrize("status", [b"200 OK", b"403 Forbidden"])
def test_endless_nesting_in_reply_to_a_report_is_no_reply(status: bytes, tmp_path: Path) -> None:
    reply = b"HTTP/1.1 " + status + b"\r\n\r\n" + NESTED
    with collecting(Scripted(FIRST, raw={"reports": reply})) as collector:
        person = Participant(collector.url, tmp_path / "ledger.json", wait=lambda _: None)
        with pytest.raises(PrivtallyError, match=f"did not answer {ATTEMPTS} times"):
            person.answer(RECORDS[0])
        assert len(collector.received) == ATTEMPTS
        assert len(set(collector.received)) == 1
        collector.raw = {}
        assert person.answer(RECORDS[0]).dump() == collector.received[0]


def test_endless_nesting_in_a_refusal_is_no_reason(tmp_path: Path) -> None:
    reply = b"HTTP/1.1 403 Forbidden\r\n\r\n" + NESTED
    with collecting(Scripted(FIRST, raw={"plans": reply})) as collector:
        person = Participant(collector.url, tmp_path / "ledger.json", wait=lambda _: None)
        with pytest.raises(PrivtallyError, match=r"status 403$"):
            person.answer(RECORDS[0])


def test_an_honest_collector_is_answered(tmp_path: Path) -> None:
    malice = Malice((SECOND.dump(),), lambda _: published([FIRST, SECOND]), None)
    all_heard = [heard(malice, record, tmp_path / str(own), by_the_book) for own, record in enumerate(RECORDS)]
    assert all(each == all_heard[0] for each in all_heard)
    assert all_heard[0][1] == [SECOND.digest] * TRIES
    asked = [request.resource for request in all_heard[0][0] if request.method == "GET"]
    assert asked == ["plans", "plan", "plans"]  # the open plan is asked for once the answers are encoded


def test_answers_are_encoded_by_the_pinned_plan_before_the_open_one_is_asked_for(tmp_path: Path) -> None:
    malice = Malice((SECOND.dump(),), lambda _: published([FIRST, SECOND]), None)
    asked, sent, said, _ = heard(malice, {"smokes": "often", "drinks": "never"}, tmp_path / "1", by_the_book)
    assert ({request.resource for request in asked}, sent) == ({"plans"}, [])
    assert "often" not in said[0]


def plan_offered(plan: Plan) -> Malice:
    return Malice((plan.dump(),), lambda _: published([plan]), None, plan)


def test_a_link_without_a_pin_is_refused_unless_the_collector_is_trusted(tmp_path: Path) -> None:
    with collecting(Malicious(FIRST, malice=plan_offered(FIRST))) as collector:
        link = collector.url.replace(FIRST.digest, "newest")
        with pytest.raises(PrivtallyError, match=r"pins no campaign.*trust=True"):
            Participant(link, tmp_path / "ledger.json")
        participant = Participant(link, tmp_path / "ledger.json", trust=True)
        assert participant.answer(RECORDS[0]).plan == FIRST.digest == participant.campaign
        assert {request.path.rpartition("/")[0] for request in collector.requests} == {"/v1/campaigns/newest"}
