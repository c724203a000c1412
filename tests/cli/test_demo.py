"""demo --store: the sample campaign over HTTP, against a service in a process of its own."""

import os
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.cli import over_http
from privtally.errors import SendingError
from tests.cli.conftest import Program
from tests.service.process import serving
from tests.store.postgres_server import new_database

STORE = ("--store", "sqlite:///demo.db")


def test_people_answer_over_http_and_the_store_stays(program: Program) -> None:
    said = program("demo", "--seed", 7, "--people", 400, *STORE).out
    assert "truth" in said
    assert "demo.db" in said
    assert not Path("demo.db-wal").exists()  # the service was not killed
    (campaign,) = program("campaign", "list", "--json", *STORE).json()
    assert campaign["state"] == "open"
    assert [phase["reports"] for phase in campaign["phases"]] == [40, 360]
    assert program("db", "check", "--json", *STORE).json()["faults"] == []
    assert program("demo", "--seed", 7, "--people", 400, *STORE).out == said
    assert len(program("campaign", "list", "--json", *STORE).json()) == 2


def test_a_store_that_cannot_be_opened_is_refused(program: Program) -> None:
    refused = program("demo", "--store", "sqlite:///nowhere/demo.db", code=2)
    assert "nowhere" in refused.err
    assert len(refused.err.splitlines()) == 1


def test_the_service_ends_with_its_block_and_refuses_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SendingError, match="refused"), over_http.service(f"sqlite:///{tmp_path}/demo.db") as site:
        site.ask("POST", "/v1/campaigns", b"{}")
    with pytest.raises(SendingError, match="stopped"):
        site.ask("GET", "/v1/campaigns")


def test_the_administrators_token_of_a_store_stays_also_while_a_service_runs(program: Program, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/demo.db"
    with serving(address, tmp_path) as process:
        program("demo", "--mechanism", "smp", "--people", 200, "--store", address)
        with process.site() as site:
            site.create()
            assert len(site.ok(site.client.get("/v1/campaigns", headers=site.admin))) == 2


@pytest.mark.skipif(not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="needs /proc with children")
def test_the_words_of_the_process_that_serves_hold_no_address(tmp_path: Path) -> None:
    with over_http.service(f"sqlite:///{tmp_path}/planted.db"):
        children = [own for path in Path("/proc/self/task").glob("*/children") for own in path.read_text().split()]
        words = [Path(f"/proc/{own}/cmdline").read_bytes() for own in children]
    assert any(b"serve" in own for own in words)
    assert not any(b"planted" in own for own in words)


def test_no_line_of_the_demo_holds_a_password(program: Program, postgres: str) -> None:
    address = new_database(postgres, "demo").replace("@", ":planted@", 1)
    assert ":planted@" in address
    said = program("demo", "--mechanism", "smp", "--people", 200, "--store", address)
    assert "planted" not in said.out + said.err
