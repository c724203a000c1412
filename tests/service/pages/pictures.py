"""Pictures of the pages for the guide, taken by the test browser: python -m tests.service.pages.pictures docs/images"""

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins
from PIL import Image
from playwright.sync_api import Locator, Page, ViewportSize, expect, sync_playwright

from privtally.lab.population import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.service.pages.browser import Running, launch, running

COLOURS = 64
"""Few colours make small files, and the pages have few."""
Shares = tuple[tuple[float, ...], ...]
USUAL: Shares = ((0.42, 0.36, 0.22), (0.5, 0.32, 0.18), (0.62, 0.27, 0.11))
WORSE: Shares = ((0.2, 0.3, 0.5), (0.4, 0.32, 0.28), (0.55, 0.29, 0.16))
"""How frequent the answers good, so-so and bad to each question are."""
TOGETHER = 0.8
"""How often an answer follows what a person's answers have in common."""
EDGE = 16
WIDE, PHONE = ViewportSize(width=1040, height=760), ViewportSize(width=360, height=860)


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as store, running(Path(store)) as service, sync_playwright() as playwright:
        service.browser = launch(playwright)
        take_all(service, folder)
        service.browser.close()


def take_all(service: Running, folder: Path) -> None:
    def take(shown: Page | Locator, name: str, **options: Any) -> None:
        picture = Image.open(io.BytesIO(shown.screenshot(**options)))
        picture.convert("RGB").quantize(COLOURS).save(folder / f"pages-{name}.png", optimize=True)

    def take_with_edge(page: Page, name: str, first: str, last: str) -> None:
        """What stands from one element to another, with an edge of the page around it."""
        start, end = (page.locator(place).first.bounding_box() for place in (first, last))
        assert start is not None
        assert end is not None
        left, top = (max(start[side] - EDGE, 0) for side in ("x", "y"))
        right = min(start["x"] + start["width"] + EDGE, page.evaluate("innerWidth"))
        size = {"width": right - left, "height": end["y"] + end["height"] + EDGE - top}
        take(page, name, clip={"x": left, "y": top, **size}, full_page=True)

    def take_totals(page: Page, name: str) -> None:
        """A dashboard as far as its first totals; wide, and as a phone has it."""
        for size, kind in ((PHONE, f"{name}-phone"), (WIDE, name)):
            page.set_viewport_size(size)
            take_with_edge(page, kind, ".top", ".panels .panel")

    with service.window(viewport=WIDE) as operator, service.window(viewport=PHONE) as person:
        page = operator.log_in(service.token)
        page.get_by_role("link", name="sample").click()
        page.wait_for_load_state()
        page.fill("#people", "5000")
        expect(page.locator("#advice")).to_contain_text("5,000")
        take(page, "new")
        page.set_viewport_size(PHONE)
        take_with_edge(page, "new-phone", ".side", ".side")
        page.set_viewport_size(WIDE)
        page.get_by_role("button", name="Start").click()
        expect(page.locator("#people")).to_have_text("0")
        campaign = page.url.rpartition("/")[2]

        seen = person.open(f"/s/{campaign}")
        expect(seen.locator("#form")).to_be_visible()
        take(seen, "survey")
        person.choose(0, 1, 0)
        person.send()
        expect(seen.locator("#done")).to_be_visible()
        seen.set_viewport_size({"width": 680, "height": 640})
        take_with_edge(seen, "done", "#done", "#done")

        for seed in range(1, 5):
            answer(service, campaign, 1_000, seed)
        page.reload()
        expect(page.locator("#people")).to_have_text("4,001")
        expect(page.locator(".panel")).not_to_have_count(0)
        take_totals(page, "dashboard")
        take(page, "totals", full_page=True)
        shutil.copy(folder / "pages-dashboard-phone.png", folder / "pages-totals-phone.png")
        page.get_by_role("link", name="Open another round").click()
        take(page.locator("main"), "refresh")
        page.get_by_role("button", name="Open").click()
        expect(page.locator("#people")).to_have_text("0")
        answer(service, campaign, 1_000, seed=5)
        service.site.refresh(campaign, service.site.plan(campaign).digest)
        answer(service, campaign, 1_000, 6, WORSE)
        page.reload()
        expect(page.locator("polyline")).not_to_have_count(0)
        take(page.locator(".panels").last, "rounds")

        learning = with_two_phases(service, campaign)
        page = operator.open(f"/c/{learning}")
        answer(service, learning, 261, seed=7)
        expect(page.locator("#people")).to_have_text("261")
        take_totals(page, "first")
        answer(service, learning, 239, seed=8)
        expect(page.locator("#people")).to_have_text("500")
        page.get_by_role("link", name="Go on").click()
        take(page.locator("main"), "advance")


def with_two_phases(service: Running, campaign: str) -> str:
    """A survey of the same questions whose second phase learns from the first: the form makes none."""
    schema = to_builtins(service.site.plan(campaign).schema)
    options = {"people": 4_500}
    created = service.site.create(title="How was your week?", schema=schema, mechanism="corr-rr", options=options)
    return str(created["id"])


def answer(service: Running, campaign: str, people: int, seed: int, shares: Shares = USUAL) -> None:
    """Made-up people answer; who sleeps badly often has a bad mood too."""
    plan, made_up = service.site.plan(campaign), np.random.default_rng(seed)
    same, own = made_up.random((people, 1)), made_up.random((people, len(shares)))
    ranks = np.where(made_up.random(own.shape) < TOGETHER, same, own)
    codes = np.column_stack(
        [np.searchsorted(np.cumsum(share)[:-1], ranks[:, place]) for place, share in enumerate(shares)]
    )
    service.site.send(campaign, *respond_many(plan, Records(plan.schema, codes.astype(np.uint8)), seeded(seed)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
