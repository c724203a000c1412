import json
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.documents.campaign import refresh
from privtally.documents.plan import Plan, design
from privtally.errors import DocumentError, LedgerError
from privtally.lab.population import seeded
from privtally.participant.ledger import SameSurveyWarning, answer_once, given_away
from privtally.participant.respond import respond
from privtally.schema import Record
from tests.support import first_plan

FIRST = first_plan((3, 3), 1.0, "corr-rr")
COUNTS = count(FIRST, np.random.default_rng(0).integers(0, 3, (40, 2), dtype=np.uint8))
SECOND = learn([(FIRST, COUNTS)])
RECORD = Record((2, 0))


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.json"


def test_a_campaign_is_answered_once_and_the_same_report_is_sent_again(ledger: Path) -> None:
    report = respond(FIRST, RECORD, ledger=ledger)
    assert respond(FIRST, RECORD, ledger=ledger) == report
    assert respond(FIRST, Record((0, 1)), ledger=ledger) == report
    assert report.plan == FIRST.digest


def test_another_phase_of_the_same_campaign_is_refused(ledger: Path) -> None:
    assert SECOND.campaign_id == FIRST.campaign_id
    respond(FIRST, RECORD, ledger=ledger)
    with pytest.raises(LedgerError, match="1 times"):
        respond(SECOND, RECORD, ledger=ledger)
    other = ledger.with_name("other.json")
    report = respond(SECOND, RECORD, ledger=other)
    with pytest.raises(LedgerError):
        respond(FIRST, RECORD, ledger=other)
    assert respond(SECOND, RECORD, ledger=other) == report


def test_other_campaigns_are_separate(ledger: Path) -> None:
    other = first_plan((3, 2), 2.0)
    one, two = respond(FIRST, RECORD, ledger=ledger), respond(other, RECORD, ledger=ledger)
    assert one.plan != two.plan
    assert respond(FIRST, RECORD, ledger=ledger) == one
    assert respond(other, RECORD, ledger=ledger) == two


def test_a_budget_above_ones_own_limit_is_refused(ledger: Path) -> None:
    greedy = first_plan((3, 3), 5.0)
    with pytest.raises(LedgerError, match=r"5.*4"):
        respond(greedy, RECORD, ledger=ledger)
    assert not ledger.exists()
    with pytest.raises(LedgerError, match=r"5.*4"):
        respond(greedy, RECORD)
    with pytest.raises(LedgerError, match="nan"):
        respond(greedy, RECORD, most_epsilon=float("nan"))
    assert respond(greedy, RECORD, ledger=ledger, most_epsilon=5.0).plan == greedy.digest


def test_a_cap_holds_over_all_campaigns_of_a_device(ledger: Path) -> None:
    assert given_away(ledger) == (Decimal(0), 0)
    campaigns = [first_plan((3, 3), 0.1), first_plan((2, 2), 0.1), first_plan((4, 4), 0.1)]
    for plan in campaigns:
        respond(plan, Record((1, 1)), ledger=ledger, device_cap=0.3)
    assert given_away(ledger) == (Decimal("0.3"), 3)
    before = ledger.read_bytes()
    with pytest.raises(LedgerError, match=r"0\.3 in 3 reports so far; 1e-06 more would exceed its cap of 0\.3"):
        respond(first_plan((5, 5), 1e-6), Record((1, 1)), ledger=ledger, device_cap=0.3)
    with pytest.raises(LedgerError):
        respond(first_plan((5, 5), 1e-6), Record((1, 1)), ledger=ledger, device_cap=float("nan"))
    assert ledger.read_bytes() == before
    again = respond(campaigns[0], Record((0, 0)), ledger=ledger, device_cap=0.1)  # what was given away is sent again
    assert again.plan == campaigns[0].digest
    respond(first_plan((5, 5), 1e-6), Record((1, 1)), ledger=ledger)
    with pytest.raises(LedgerError, match="ledger"):
        respond(campaigns[0], Record((1, 1)), device_cap=9.0)


def test_the_ledger_never_holds_answers(ledger: Path) -> None:
    report = respond(FIRST, RECORD, ledger=ledger, source=seeded(1))
    (entry,) = json.loads(ledger.read_text())["answered"].values()
    assert set(entry) == {"schema", "epsilon", "answers", "reports", "rounds"}
    (kept,) = entry["reports"]
    assert kept["codes"] == list(report.codes)
    assert set(kept) == {"format", "plan", "id", "codes"}
    assert ledger.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "{", '{"format": "privtally.ledger/1"}', '{"format": "x", "answered": {}}'])
def test_a_damaged_ledger_is_refused_and_left_alone(ledger: Path, text: str) -> None:
    ledger.write_text(text)
    with pytest.raises(LedgerError, match="the ledger"):
        respond(FIRST, RECORD, ledger=ledger)
    assert ledger.read_text() == text


def _other_digit(text: str) -> str:
    return ("0" if text[0] != "0" else "1") + text[1:]


@pytest.mark.parametrize("plan", [FIRST, SECOND], ids=["first", "second"])
def test_one_changed_digit_never_draws_a_second_report(ledger: Path, plan: Plan) -> None:
    respond(plan, RECORD, ledger=ledger)
    whole = json.loads(ledger.read_text())
    ((key, entry),) = whole["answered"].items()
    (report,) = entry["reports"]
    damages: list[dict[str, Any]] = [
        {_other_digit(key): entry},
        {key: {**entry, "schema": _other_digit(entry["schema"])}},
        {key: {**entry, "answers": 2}},
        {key: {**entry, "reports": [{**report, "plan": _other_digit(plan.digest)}]}},
        {key: {**entry, "reports": []}},
    ]
    for answered in damages:
        ledger.write_text(json.dumps({**whole, "answered": answered}))
        with pytest.raises(LedgerError):
            respond(plan, RECORD, ledger=ledger)


def test_a_round_is_answered_once(ledger: Path) -> None:
    first = first_plan((3, 3), 1.0, "corr-rr", answers=2)
    history = [(first, count(first, np.random.default_rng(0).integers(0, 3, (40, 2), dtype=np.uint8)))]
    second = learn(history)
    third = refresh([first, second])
    report = respond(first, RECORD, ledger=ledger)
    with pytest.raises(LedgerError, match="round"):
        respond(second, RECORD, ledger=ledger)
    assert respond(third, RECORD, ledger=ledger).plan == third.digest
    assert respond(first, RECORD, ledger=ledger) == report


def test_the_cap_is_on_what_the_whole_campaign_may_ask_for(ledger: Path) -> None:
    with pytest.raises(LedgerError, match="6"):
        respond(first_plan((3, 3), 3.0, answers=2), RECORD, ledger=ledger)
    assert not ledger.exists()
    assert respond(first_plan((3, 3), 2.0, answers=2), RECORD, ledger=ledger).codes


def test_a_later_plan_cannot_change_what_the_first_answer_agreed_to(ledger: Path) -> None:
    respond(FIRST, RECORD, ledger=ledger)
    for change in ({"answers": 2}, {"epsilon": 0.5}):
        greedy = msgspec.structs.replace(SECOND, **change)
        with pytest.raises(LedgerError, match="differs"):
            respond(greedy, RECORD, ledger=ledger)


def test_the_same_survey_asked_again_is_another_campaign_with_a_warning(ledger: Path) -> None:
    again = design(FIRST.schema, 1.0, "corr-rr")
    first = respond(FIRST, RECORD, ledger=ledger)
    with pytest.warns(SameSurveyWarning):
        second = respond(again, RECORD, ledger=ledger)
    assert (first.plan, second.plan) == (FIRST.digest, again.digest)
    assert first.id != second.id


def test_a_ledger_may_be_named_by_a_text(tmp_path: Path) -> None:
    ledger = str(tmp_path / "ledger.json")
    report = answer_once(ledger, FIRST, lambda: respond(FIRST, RECORD))
    assert answer_once(ledger, FIRST, lambda: respond(FIRST, RECORD)) == report


def test_a_ledger_behind_a_link_is_one_ledger(tmp_path: Path) -> None:
    ledger, link = tmp_path / "ledger.json", tmp_path / "link.json"
    link.symlink_to(ledger)
    report = respond(FIRST, RECORD, ledger=link)
    assert link.is_symlink()
    assert respond(FIRST, RECORD, ledger=ledger) == report


def test_a_ledger_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot write"):
        respond(FIRST, RECORD, ledger=tmp_path / "no" / "ledger.json")


CRASHING = """
import os, signal, sys
from pathlib import Path
from privtally import files
from privtally.participant.respond import respond
from tests.participant.test_ledger import FIRST, RECORD

when = sys.argv[2]
write = Path.replace

def replace(self, target):
    if when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, target)
    if when == "after":
        os.kill(os.getpid(), signal.SIGKILL)

Path.replace = replace
respond(FIRST, RECORD, ledger=Path(sys.argv[1]))
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_between_spending_and_sending_never_gives_two_reports(ledger: Path, when: str) -> None:
    """The process is killed before or after the ledger takes its name, and before it can send anything."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", CRASHING, str(ledger), when]
    done = subprocess.run(command, cwd=root, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert ledger.exists() == (when == "after")
    spent = json.loads(ledger.read_text())["answered"][FIRST.digest]["reports"][0] if when == "after" else None
    report = respond(FIRST, RECORD, ledger=ledger)
    if spent is not None:
        assert (report.id, list(report.codes)) == (spent["id"], spent["codes"])
    assert respond(FIRST, RECORD, ledger=ledger) == report


RACING = """
import sys
from pathlib import Path
from privtally.participant.respond import respond
from tests.participant.test_ledger import FIRST, RECORD

sys.stdin.read()
print(respond(FIRST, RECORD, ledger=Path(sys.argv[1])).id)
"""


def test_two_processes_at_once_give_one_report(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RACING, str(tmp_path / "ledger.json")]
    root = Path(__file__).parents[2]
    racers = [
        subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ))
        for _ in range(4)
    ]
    ids = set()
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.close()
    for racer in racers:
        assert racer.stdout is not None
        ids.add(racer.stdout.read())
        assert racer.wait(timeout=60) == 0
        racer.stdout.close()
    assert len(ids) == 1


@pytest.mark.parametrize("ledger", ["-", "/dev/null", "a\0b"])
def test_what_keeps_nothing_is_no_ledger(ledger: str) -> None:
    with pytest.raises(LedgerError):
        respond(FIRST, RECORD, ledger=ledger)


def test_a_returning_participant_is_refused_unless_the_campaign_allows_it(tmp_path: Path) -> None:
    once = first_plan((3, 3), 1.0, "smp")
    respond(once, RECORD, ledger=tmp_path / "once.json")
    with pytest.raises(LedgerError, match="budget"):
        respond(refresh([once]), RECORD, ledger=tmp_path / "once.json")
    twice = first_plan((3, 3), 1.0, "smp", answers=2)
    rounds = [twice, refresh([twice])]
    rounds.append(refresh(rounds))
    reports = [respond(plan, RECORD, ledger=tmp_path / "twice.json") for plan in rounds[:2]]
    assert [report.plan for report in reports] == [plan.digest for plan in rounds[:2]]
    with pytest.raises(LedgerError, match="2 times"):
        respond(rounds[2], RECORD, ledger=tmp_path / "twice.json")
    assert respond(rounds[1], RECORD, ledger=tmp_path / "twice.json") == reports[1]
