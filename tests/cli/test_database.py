"""db: an operator's care of a store, on SQLite and, where it has the command, on PostgreSQL."""

import asyncio
import threading
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

import apsw

from privtally.collector import tally
from privtally.service import operations
from privtally.service.operations import is_admin
from privtally.store import campaigns, open_store
from privtally.store.intake import accept
from tests.cli.conftest import SCHEMA, Program
from tests.store.people import answered, arrivals
from tests.store.postgres_server import new_database, run_on

_NUMBERS = count()
_NEW = ("campaign", "create", "survey.toml", "--title", "Sleep", "-e", "2", "-m", "corr-rr", "--json")


@pytest.fixture
def sqlite(program: Program, monkeypatch: pytest.MonkeyPatch) -> str:
    Path("survey.toml").write_text(SCHEMA)
    monkeypatch.setenv("PRIVTALLY_STORE", "sqlite:///privtally.db")
    return "sqlite:///privtally.db"


@pytest.fixture
def postgresql(program: Program, monkeypatch: pytest.MonkeyPatch, postgres: str) -> str:
    Path("survey.toml").write_text(SCHEMA)
    address = new_database(postgres, f"cli_{next(_NUMBERS)}")
    monkeypatch.setenv("PRIVTALLY_STORE", address)
    return address


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


def store_reports(address: str, campaign: str, people: int, seed: int = 1) -> None:
    async def run() -> None:
        store = await open_store(address)
        stored = await operations.find(store, campaign)
        await store.write(partial(accept, arrivals=arrivals(stored, answered(stored.plans[-1], people, seed=seed))))
        await store.close()

    asyncio.run(run())


def is_the_administrators(address: str, token: str) -> bool:
    async def run() -> bool:
        store = await open_store(address)
        found = await is_admin(store, token)
        await store.close()
        return found

    return asyncio.run(run())


def in_a_thread(work: Any) -> None:
    """Do something that has an event loop of its own, from a place that has one as well."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_token_for_a_store_that_is_not_there_is_refused(program: Program) -> None:
    refusal = program("db", "new-token", "--store", "sqlite:///typo.db", code=2)
    assert "typo.db" in refusal.err
    assert not Path("typo.db").exists()


def test_an_operator_does_the_same_on_both_stores(program: Program, store: str) -> None:
    made = program(*_NEW, "--tokens", "--people", "900").json()
    program("db", "new-token")
    program("campaign", "tokens", made["id"][:8], "5", "-o", "tokens.txt")
    plain = program(*_NEW, "--people", "900").json()["id"]
    store_reports(store, plain, 300)
    assert len(program("campaign", "advance", plain, "--json").json()["phases"]) == 2
    program("campaign", "export", plain, "-o", "all.csv")
    assert program("db", "check", "--json").json() == {"campaigns": 2, "reports": 300, "faults": []}
    for campaign in (made["id"], plain):
        program("campaign", "close", campaign)
        program("campaign", "delete", campaign, "--title", "Sleep")
    assert program("campaign", "list", "--json").json() == []


def test_a_backup_comes_back_for_its_owner_alone(program: Program, sqlite: str) -> None:
    made = program(*_NEW).json()
    store_reports(sqlite, made["id"], 30)
    program("db", "backup", "-o", "copy.db")
    before = Path("copy.db").read_bytes()
    program("db", "backup", "-o", "copy.db", code=2)
    program("db", "backup", "-o", "-", code=2)
    program("db", "backup", "-o", "nowhere/copy.db", code=2)
    program("db", "restore", "copy.db", code=2)
    Path("privtally.db").unlink()
    program("db", "restore", "copy.db")
    assert program("db", "check", "--json").json()["reports"] == 30
    assert Path("copy.db").read_bytes() == before
    assert {path.stat().st_mode & 0o777 for path in Path().glob("*.db")} == {0o600}
    assert {path.name for path in Path().iterdir()} == {"copy.db", "privtally.db", "survey.toml"}


def test_a_backup_says_what_two_copies_show_until_campaigns_with_invitations_are_deleted(
    program: Program, sqlite: str
) -> None:
    program(*_NEW)
    said = program("db", "backup", "-o", "plain.db", "--json")
    assert (said.json(), said.err) == ({"output": "plain.db", "invitations": False}, "")
    invited = program(*_NEW, "--tokens", "--people", "900").json()["id"]
    said = program("db", "backup", "-o", "open.db", "--json")
    assert said.json()["invitations"]
    assert len(said.err.splitlines()) == 1
    assert "which invitation sent which report" in said.err
    program("campaign", "close", invited)
    assert "keep the last copy only" in program("db", "backup", "-o", "closed.db").err
    program("campaign", "delete", invited, "--title", "Sleep")
    assert program("db", "backup", "-o", "deleted.db").err == ""


@pytest.mark.parametrize("form", ["words", "json"])
def test_a_copy_brings_no_token_back_that_was_replaced(program: Program, sqlite: str, form: str) -> None:
    program(*_NEW)
    replaced = program("db", "new-token", "--json").json()["admin_token"]
    program("db", "backup", "-o", "copy.db")
    program("db", "new-token")
    Path("privtally.db").unlink()
    if form == "json":
        new = program("db", "restore", "copy.db", "--json").json()["admin_token"]
    else:
        said = program("db", "restore", "copy.db").out
        assert "stopped working" in said
        new = said.split()[-1]
    assert [is_the_administrators(sqlite, token) for token in (replaced, new)] == [False, True]


def test_a_copy_is_not_put_beside_the_log_of_another_store(program: Program, sqlite: str) -> None:
    program(*_NEW)
    program("db", "backup", "-o", "copy.db")
    Path("privtally.db").unlink()
    Path("privtally.db-wal").write_bytes(b"what a crash left behind")
    assert "-wal" in program("db", "restore", "copy.db", code=2).err
    assert not Path("privtally.db").exists()


def test_only_a_sound_copy_is_restored(program: Program, sqlite: str) -> None:
    made = program(*_NEW).json()
    store_reports(sqlite, made["id"], 30)
    connection = apsw.Connection("privtally.db")
    connection.execute("DELETE FROM reports WHERE id = (SELECT min(id) FROM reports)")
    connection.close()
    program("db", "check", code=2)
    program("db", "backup", "-o", "damaged.db")
    Path("text.db").write_text("no database, but text that is long enough to be one" * 99)
    foreign = apsw.Connection("foreign.db")
    foreign.execute("CREATE TABLE notes (text)")
    foreign.close()
    for copy in ("damaged.db", "text.db", "foreign.db", "nowhere.db"):
        assert copy in program("db", "restore", copy, "--store", "sqlite:///new.db", code=2).err
    program("db", "restore", "damaged.db", "--store", "postgresql://nobody@nowhere/nothing", code=2)
    assert not list(Path().glob("*new.db*"))


def test_a_backup_is_made_while_reports_arrive(program: Program, sqlite: str, tmp_path: Path) -> None:
    arriving, stop = threading.Event(), threading.Event()
    campaign = program(*_NEW).json()["id"]
    acknowledged = 0

    def arrive() -> None:
        nonlocal acknowledged
        for seed in count(1):
            store_reports(f"sqlite:///{tmp_path}/privtally.db", campaign, 20, seed)
            acknowledged += 20
            arriving.set()
            if stop.is_set():
                return

    thread = threading.Thread(target=arrive)
    thread.start()
    arriving.wait()
    least = acknowledged
    program("db", "backup", "-o", "copy.db")
    stop.set()
    thread.join()
    copied = program("db", "check", "--json", "--store", "sqlite:///copy.db").json()
    assert copied["faults"] == []
    assert least <= copied["reports"] <= acknowledged
    assert copied["reports"] % 20 == 0


def test_reports_that_arrive_during_a_check_are_no_fault(
    program: Program, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = program(*_NEW).json()["id"]
    store_reports(store, campaign, 30)
    first = iter([True])

    def meanwhile(*given: Any) -> Any:
        if next(first, False):
            in_a_thread(partial(store_reports, store, campaign, 40, 2))
        return tally.count(*given)

    monkeypatch.setattr(campaigns, "count", meanwhile)
    assert program("db", "check", "--json").json()["reports"] == 30
    assert program("db", "check", "--json").json()["reports"] == 70


def test_postgresql_has_its_own_backups(program: Program, postgresql: str) -> None:
    assert "pg_dump" in program("db", "backup", "-o", "copy.db", code=2).err
    assert not Path("copy.db").exists()


def test_a_user_who_may_create_nothing_is_told_so(program: Program, postgres: str) -> None:
    name = f"cli_{next(_NUMBERS)}"
    address = new_database(postgres, name)
    run_on(postgres, f"CREATE ROLE {name} LOGIN", f"GRANT USAGE ON SCHEMA {name} TO {name}")
    refused = program("campaign", "list", "--store", address.replace("postgres:@", f"{name}:@"), code=2)
    assert "create" in refused.err
