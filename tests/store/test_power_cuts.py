"""Power cuts: nothing that was acknowledged is lost, and the test would notice if it were."""

from functools import partial
from pathlib import Path
from random import Random

import apsw
import pytest

from privtally.documents.plan import Plan
from privtally.store.campaigns import counts_of, fold
from privtally.store.intake import Arrival, accept
from privtally.store.sqlite import SqliteStore
from tests.scale import scaled
from tests.store.people import answered, arrivals, new_campaign
from tests.store.power import ForgetfulDisk, Picture, restore

pytestmark = pytest.mark.anyio

CUTS = scaled(12, 150)
GROUPS, GROUP = scaled(30, 150), 20


async def losses(folder: Path, synchronous: str) -> int:
    """After how many of the power cuts some acknowledged report was missing."""
    chance, acknowledged = Random(5), 0
    pictures: list[tuple[Picture, int]] = []
    campaign = None

    def maybe_cut(disk: ForgetfulDisk) -> None:
        if campaign is not None and chance.random() < 0.1:
            pictures.append((disk.picture(chance), acknowledged))

    disk = ForgetfulDisk(f"forgetful-{synchronous}", maybe_cut)
    store = SqliteStore(folder / "store.db", synchronous=synchronous, vfs=disk.name)
    # Checkpoints are where a log can be lost.
    await store.write(lambda session: session.fetch("PRAGMA wal_autocheckpoint = 16"))
    campaign = await new_campaign(store)
    rows = arrivals(campaign, answered(campaign.plans[0], GROUPS * GROUP))
    number, plan = campaign.plan_numbers[0], campaign.plans[0]
    for start in range(0, len(rows), GROUP):
        group = rows[start : start + GROUP]
        assert set(await store.write(partial(accept, arrivals=group))) == {"accepted"}
        acknowledged += GROUP
        if start % (5 * GROUP) == 0:
            await store.write(partial(fold, number=number, plan=plan))
    await store.close()
    chance.shuffle(pictures)
    assert len(pictures) >= CUTS
    lost = 0
    for place, (picture, promised) in enumerate(pictures[:CUTS]):
        remains = folder / f"cut-{synchronous}-{place}"
        remains.mkdir()
        lost += not await holds(restore(picture, remains), promised, rows, number, plan)
    print(f"{synchronous}: {lost} of {CUTS} power cuts lost acknowledged reports")  # noqa: T201
    return lost


async def holds(path: Path, promised: int, rows: list[Arrival], number: int, plan: Plan) -> bool:
    """Whether a database after a power cut is sound and has all reports that were acknowledged."""
    try:
        store = SqliteStore(path)
    except ValueError:
        return False
    try:
        if await store.integrity() != "ok":
            return False
        counts = await store.read(partial(counts_of, number=number, plan=plan))
        outcomes = await store.write(partial(accept, arrivals=rows))
        return outcomes[:promised] == ["repeated"] * promised and counts.reports == outcomes.count("repeated")
    except (apsw.Error, ValueError):
        return False
    finally:
        await store.close()


async def test_no_power_cut_loses_what_was_acknowledged(tmp_path: Path) -> None:
    assert await losses(tmp_path, "FULL") == 0


async def test_without_syncing_every_commit_power_cuts_do_lose(tmp_path: Path) -> None:
    assert await losses(tmp_path, "NORMAL") > 0
