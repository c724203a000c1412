"""Pictures of the pages for the guide, taken by the test browser: python -m tests.service.pages.pictures docs/images"""

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Locator, Page, expect, sync_playwright

from privtally.lab.seed import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.service.pages.browser import Running, launch, running
from tests.service.site import reports_to

COLOURS = 64
"""Few colours make small files, and the pages have few."""
WIDE, PHONE = {"width": 1040, "height": 760}, {"width": 360, "height": 860}


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as store, running(Path(store)) as service, sync_playwright() as playwright:
        service.browser = launch(playwright)
        take_all(service, folder)
        service.browser.close()


def take_all(service: Running, folder: Path) -> None:
    def take(shown: Page | Locator, name: str, **options: Any) -> None:
        picture = Image.open(io.BytesIO(shown.screenshot(**options)))
        picture.convert("RGB").quantize(COLOURS).save(folder / f"pages-{name}.png", optimize=True)

    with service.window(viewport=WIDE) as operator, service.window(viewport=PHONE) as person:
        page = operator.log_in(service.token)
        page.get_by_role("link", name="sample").click()
        page.wait_for_load_state()
        page.fill("#people", "5000")
        expect(page.locator("#advice")).to_contain_text("5,000")
        take(page, "new")
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
        take(seen.locator("#done"), "done")

        answer(service, campaign, 260, seed=1)
        expect(page.locator("#people")).to_have_text("261")
        take(page, "first")
        page.get_by_role("link", name="Go on").click()
        take(page, "advance", full_page=True)
        page.get_by_role("button", name="Open").click()
        expect(page.locator("#people")).to_have_text("261")
        for seed in range(2, 6):
            answer(service, campaign, 1_000, seed)
        expect(page.locator("#people")).to_have_text("4,261")
        expect(page.locator(".panel")).not_to_have_count(0)
        take(page, "second", full_page=True)
        page.locator("#refresh").click()
        take(page.locator("main"), "refresh")
        page.get_by_role("button", name="Open").click()
        expect(page.locator("#people")).to_have_text("0")
        answer(service, campaign, 1_000, seed=6)
        service.site.refresh(campaign, service.site.plan(campaign).digest)
        sleep_worse(service, campaign)
        page.reload()
        expect(page.locator("polyline")).not_to_have_count(0)
        take(page.locator(".panels").last, "rounds")


def answer(service: Running, campaign: str, people: int, seed: int) -> None:
    """Made-up people answer."""
    service.site.send(campaign, *reports_to(service.site.plan(campaign), people, seed))


def sleep_worse(service: Running, campaign: str) -> None:
    """Made-up people answer otherwise than those before."""
    plan, made_up = service.site.plan(campaign), np.random.default_rng(7)
    shares = ((0.15, 0.25, 0.6), (0.5, 0.25, 0.25), (0.55, 0.25, 0.2))
    codes = np.column_stack([made_up.choice(3, 1_000, p=own) for own in shares]).astype(np.uint8)
    service.site.send(campaign, *respond_many(plan, Records(plan.schema, codes), seeded(7)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
