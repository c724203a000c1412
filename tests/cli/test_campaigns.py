"""campaign and db: an operator's commands on a store."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from tests.cli.conftest import SCHEMA, Program
from tests.cli.test_database import store_reports

STORE = "sqlite:///privtally.db"


@pytest.fixture
def operator(program: Program) -> Program:
    Path("survey.toml").write_text(SCHEMA)
    return program


def create(operator: Program, *more: str) -> Any:
    words = ("campaign", "create", "survey.toml", "--title", "Sleep", "-e", "2", "-m", "corr-rr", "--json", *more)
    return operator(*words).json()


def test_a_campaign_is_shown_with_its_link(operator: Program) -> None:
    words = ("campaign", "create", "survey.toml", "--title", "Sleep", "-e", "2", "-m", "smp")
    address = ("--public-url", "https://survey.example.org/")
    made = operator(*words, *address).out
    (link,) = [word for word in made.split() if "/s/" in word]
    campaign = link.removeprefix("https://survey.example.org/s/")
    assert len(campaign) == 64
    assert f" /s/{campaign}\n" in operator("campaign", "show", campaign[:10]).out
    assert f" {link}\n" in operator("campaign", "show", campaign[:10], *address).out
    operator("campaign", "show", campaign[:10], "--public-url", "http://survey.example.org", code=2)


def test_rounds_and_what_later_phases_learn(operator: Program) -> None:
    made = create(operator, "--about", "We ask.", "--answers", "2")
    assert made["options"]["about"] == "We ask."
    short = made["id"][:10]
    operator("campaign", "refresh", short, code=2)
    store_reports(STORE, made["id"], 300)
    operator("campaign", "advance", short)
    store_reports(STORE, made["id"], 200)
    rounds = [phase["round"] for phase in operator("campaign", "refresh", short, "--json").json()["phases"]]
    assert rounds == [1, 1, 2]
    assert "round 2" in operator("campaign", "show", short).out
    words = ("campaign", "create", "survey.toml", "--title", "Sleep", "-e", "2", "-m")
    later = operator(*words, "cond-rr", "--pivots", "2", "--json").json()
    assert later["options"]["pivots"] == 2
    operator(*words, "auto", "--people", "500", "--pivots", "2", code=2)


def test_a_campaign_from_its_creation_to_its_end(operator: Program) -> None:
    made = create(operator, "--people", "900")
    short = made["id"][:10]
    store_reports(STORE, made["id"], 300)
    assert "300" in operator("campaign", "list").out
    assert [phase["reports"] for phase in operator("campaign", "advance", short, "--json").json()["phases"]] == [300, 0]
    store_reports(STORE, made["id"], 200)
    shown = operator("campaign", "show", short, "--json").json()
    assert [phase["reports"] for phase in shown["phases"]] == [300, 200]
    assert operator("db", "check", "--json").json() == {"campaigns": 1, "reports": 500, "faults": []}
    for suffix in ("csv", "json", "ndjson", "parquet"):
        operator("campaign", "export", short, "-o", f"all.{suffix}")
    assert len(Path("all.ndjson").read_bytes().splitlines()) == 500
    assert pq.read_table("all.parquet").num_rows == 500
    operator("campaign", "export", short, "-o", "ids.parquet", "--ids")
    assert pq.read_table("ids.parquet").column_names[:2] == ["plan", "id"]
    assert len(json.loads(Path("all.json").read_text())["phases"]) == 2
    operator("campaign", "export", short, "-o", "all.txt", code=2)
    operator("campaign", "export", short, "-o", "ids.csv", "--ids", code=2)
    operator("campaign", "export", short, "-o", "paper.ndjson", "--method", "paper", code=2)
    operator("campaign", "delete", short, "--title", "Sleep", code=2)
    assert operator("campaign", "close", short, "--json").json()["state"] == "closed"
    assert "closed" in operator("campaign", "advance", short, code=2).err
    operator("campaign", "delete", short, "--title", "Slept", code=2)
    operator("campaign", "delete", short, "--title", "Sleep")
    assert operator("campaign", "list", "--json").json() == []
    assert "create" in operator("campaign", "list").err


def test_tokens_are_written_once_each(operator: Program) -> None:
    made = create(operator, "--tokens")
    operator("campaign", "tokens", made["id"], "50", "-o", "tokens.txt")
    issued = Path("tokens.txt").read_text()
    assert len(set(issued.split())) == 50
    assert Path("tokens.txt").stat().st_mode & 0o777 == 0o600
    operator("campaign", "tokens", made["id"], "50", "-o", "tokens.txt", code=2)
    assert Path("tokens.txt").read_text() == issued  # nobody can issue these again
    operator("campaign", "tokens", made["id"], "0", "-o", "none.txt", code=2)
    assert not Path("none.txt").exists()
    plain = create(operator)
    operator("campaign", "tokens", plain["id"], "5", "-o", "more.txt", code=2)
    assert not Path("more.txt").exists()


def test_what_is_not_there_is_refused(operator: Program) -> None:
    operator("campaign", "list", code=2)
    operator("campaign", "list", "--store", "sqlite:///nowhere.db", code=2)
    assert not Path("nowhere.db").exists()
    create(operator)
    assert "list" in operator("campaign", "show", "zz", code=2).err
    operator("campaign", "show", "", code=2)
    (campaign,) = operator("campaign", "list", "--json").json()
    assert "reports" in operator("campaign", "export", campaign["id"], "-o", "e.csv", code=2).err
    assert not Path("e.csv").exists()
    operator("campaign", "create", "survey.toml", "--title", " ", "-e", "2", "-m", "smp", code=2)


def test_a_mechanism_may_be_left_to_advice(operator: Program) -> None:
    words = ("campaign", "create", "survey.toml", "--title", "Sleep", "-e", "2", "-m", "auto")
    ran = operator(*words, "--people", "1000", "--json")
    made, advised = ran.json(), operator("advise", "survey.toml", "--people", "1000", "-e", "2", "--json").json()
    assert made["mechanism"] == advised["mechanism"]
    assert made["mechanism"] in ran.err
    assert operator(*words, "--people", "1000", "--hide-among", "1", "--json").json()["mechanism"] == "smp"
    operator(*words, "--people", "1000", "--hide-among", "0", code=2)
    operator(*words, "--people", "1000", "--decoys", "1", code=2)
    operator(*words, code=2)
    operator(*words, "--people", "1000", "--pivots", "2", code=2)
    operator(*words, "--people", "1000", "--phase1-share", "0.2", code=2)


def test_groups_may_be_chosen(operator: Program) -> None:
    words = ("campaign", "create", "survey.toml", "--title", "Sleep", "-e", "2", "-m", "smp", "--groups", "auto")
    assert "group" in operator(*words).err
