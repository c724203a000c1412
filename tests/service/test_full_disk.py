"""A disk that is full while reports arrive: refusals that ask to come back, no false success, and it works again."""

import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.scale import FULL, scaled
from tests.service.process import Process, serving
from tests.service.site import NDJSON, reports_to
from tests.store.postgres_server import folder_for_all, new_database, server_in

REPORTS, BATCH, REFUSALS = scaled(10_000, 60_000), 50, scaled(20, 500)
ROOM = 1 << 19


class Disk(NamedTuple):
    """A store on a disk that can be made full, and have room again."""

    address: str
    fill: Callable[[Process], None]
    empty: Callable[[Process], None]


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def on_a_small_disk(address: str, disk: Path) -> Disk:
    """A file takes what room there is but a little, and is removed again."""
    ballast = disk / "ballast"

    def fill(_: Process) -> None:
        ballast.write_bytes(bytes(max(0, shutil.disk_usage(disk).free - ROOM)))

    return Disk(address, fill, lambda _: ballast.unlink())


def with_a_limit(address: str) -> Disk:
    """No file of the service may grow above a size, which needs nobody's permission."""

    def limit(process: Process, size: int) -> None:
        resource.prlimit(process.number, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    return Disk(address, lambda process: limit(process, ROOM), lambda process: limit(process, resource.RLIM_INFINITY))


@pytest.fixture(params=["sqlite, files limited", "sqlite, disk full", "postgresql, disk full"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    store, _, how = request.param.partition(", ")
    if how == "files limited":
        if not hasattr(resource, "prlimit"):
            pytest.skip("this system limits no running process")
        yield with_a_limit(f"sqlite:///{tmp_path}/store.db")
        return
    if store == "postgresql" and not FULL:
        pytest.skip("starts a server of its own; make reliability runs it")
    with ExitStack() as stack:
        around = stack.enter_context(folder_for_all())
        folder = stack.enter_context(small_disk(around / "disk", 8 if store == "sqlite" else 128))
        if store == "sqlite":
            yield on_a_small_disk(f"sqlite:///{folder}/store.db", folder)
        else:
            server = stack.enter_context(server_in(folder / "server"))
            yield on_a_small_disk(new_database(server.get_uri(), "full_disk"), folder)


def test_a_full_disk_refuses_and_works_again(disk: Disk, tmp_path: Path) -> None:
    with serving(disk.address, tmp_path) as process, process.site() as site:
        campaign = site.create()["id"]
        reports = list(reports_to(site.plan(campaign), REPORTS))
        batches = [reports[start : start + BATCH] for start in range(0, REPORTS, BATCH)]
        disk.fill(process)
        acknowledged: list[int] = []
        refused: list[int] = []
        for place, batch in enumerate(batches):
            answer = site.client.post(
                f"/v1/campaigns/{campaign}/reports",
                content=b"\n".join(report.dump() for report in batch),
                headers={"Content-Type": NDJSON},
            )
            if answer.status_code == 200:
                acknowledged.append(place)
                assert answer.json()["accepted"] == BATCH
                continue
            assert site.ok(answer, 503) == "unavailable"
            assert int(answer.headers["retry-after"]) > 0
            refused.append(place)
            if len(refused) == REFUSALS:
                break
        assert acknowledged
        assert len(refused) == REFUSALS
        assert site.counters(campaign) == [BATCH * len(acknowledged)]
        disk.empty(process)
        sent_again = [site.send(campaign, *batch) for batch in batches]
        assert [place for place, own in enumerate(sent_again) if own["repeated"]] == acknowledged
        assert all(own["accepted"] + own["repeated"] == BATCH for own in sent_again)
        assert site.counters(campaign) == [REPORTS]
    print(  # noqa: T201  # a figure for the guide
        f"{BATCH * len(acknowledged)} reports acknowledged and {BATCH * len(refused)} refused on a full disk;"
        f" {REPORTS} stored when there was room"
    )
