"""submit: what a person is told, and what a device gives away over several surveys."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.participant.collector import Scripted, collecting
from tests.support import first_plan

ANSWERS = {"q0": "a1", "q1": "a2"}


@pytest.fixture
def surveys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Scripted]]:
    """Two surveys, of ε = 1 and of ε = 0.5; the second may be answered three times."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "answers.json").write_text(json.dumps(ANSWERS))
    plans = first_plan((3, 3), 1.0, "corr-rr"), first_plan((4, 4), 0.5, "corr-rr", answers=3)
    with collecting(Scripted(plans[0])) as one, collecting(Scripted(plans[1])) as two:
        yield [one, two]


def words(survey: Scripted) -> tuple[str, ...]:
    return ("submit", "--url", survey.url, "--record", "answers.json", "--ledger", "ledger.json")


@pytest.mark.parametrize("as_variable", [False, True])
def test_a_device_gives_away_no_more_than_its_cap_over_all_surveys(
    program: Program, surveys: list[Scripted], monkeypatch: pytest.MonkeyPatch, as_variable: bool
) -> None:
    def submit(survey: Scripted, cap: str, code: int) -> str:
        if as_variable:
            monkeypatch.setenv("PRIVTALLY_DEVICE_CAP", cap)
        said = program(*words(survey), *(() if as_variable else ("--device-cap", cap)), code=code).err
        return " ".join(said.split())

    one, two = surveys
    assert "given away" not in submit(one, "1.2", 0)
    told = submit(two, "1.2", 2)
    assert "This device has given away ε = 1.0 so far, in 1 reports." in told
    assert "0.5 more would exceed its cap of 1.2 over all campaigns" in told
    assert two.received == []
    submit(two, "1.5", 0)
    assert len(two.received) == 1


def test_a_person_is_told_what_one_answer_and_all_answers_give_away(program: Program, surveys: list[Scripted]) -> None:
    one, two = (" ".join(program(*words(survey)).err.split()) for survey in surveys)
    assert "ε = 1: a report can make anybody at most 2.8 times surer" in one
    assert "in all" not in one
    assert "ε = 0.5: a report can make anybody at most 1.7 times surer" in two
    assert "This survey may ask you 3 times: ε = 1.5 in all." in two


def test_a_link_without_a_pin_is_refused_with_what_to_do(program: Program, surveys: list[Scripted]) -> None:
    link = surveys[0].url.rpartition("/")[0] + "/newest"
    said = program("submit", "--url", link, "--record", "answers.json", "--ledger", "ledger.json", code=2).err
    assert "copy the whole link" in " ".join(said.split())
