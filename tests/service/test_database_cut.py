"""A database that is gone for a while: refusals that ask to come back, no false success, and recovery by itself."""

import time
from pathlib import Path

import pytest

from tests.scale import FULL
from tests.service.process import serving
from tests.service.site import receipt, reports_to
from tests.store.postgres_server import folder_for_all, new_database, server_in

SECONDS, ATTEMPTS = 10, 200


@pytest.mark.skipif(not FULL, reason="stops a database for ten seconds; make reliability runs it")
def test_a_database_that_is_gone_for_ten_seconds(tmp_path: Path) -> None:
    with (
        folder_for_all() as folder,
        server_in(folder / "data") as server,
        serving(new_database(server.get_uri(), "cut"), tmp_path) as process,
        process.site() as site,
    ):
        campaign = site.create()["id"]
        one, two = reports_to(site.plan(campaign), 2)
        assert site.send(campaign, one) == receipt(accepted=1)
        server.stop()
        refused, end = 0, time.monotonic() + SECONDS
        while time.monotonic() < end:
            answer = site.client.post(
                f"/v1/campaigns/{campaign}/reports", content=two.dump(), headers={"Content-Type": "application/json"}
            )
            assert site.ok(answer, 503) == "unavailable"
            assert int(answer.headers["retry-after"]) > 0
            assert site.client.get("/readyz").status_code == 503
            assert site.client.get("/livez").status_code == 200
            refused += 1
        server.start()
        for _ in range(ATTEMPTS):
            if site.client.get("/readyz").status_code == 200:
                break
        assert site.send(campaign, one, two) == receipt(accepted=1, repeated=1)
        assert site.counters(campaign) == [2]
        print(f"{refused} reports refused while the database was gone")  # noqa: T201
