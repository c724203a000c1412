"""The service with its pages in a thread, and Debian's chromium to look at them.

A window notes whatever a page should never do: an error in the console, a script that fails, a request elsewhere.
"""

import asyncio
import os
import shutil
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, expect

from tests.service.listening import application, listening
from tests.service.site import Site

T = TypeVar("T")

CHROMIUM = os.environ.get("PRIVTALLY_CHROMIUM") or shutil.which("chromium")
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
LIKE = ("well", "so-so", "badly")
PATIENCE = 30_000
"""Milliseconds until what should have happened is missed."""
FOREIGN_HOST = "survey.example"
"""A name for this machine that browsers do not trust without TLS."""


def launch(playwright: Playwright) -> Browser:
    expect.set_options(timeout=PATIENCE)
    options = ["--no-sandbox", f"--host-resolver-rules=MAP {FOREIGN_HOST} 127.0.0.1"]
    return playwright.chromium.launch(executable_path=CHROMIUM, args=options)


@dataclass
class Window:
    """A page of one person, who shares nothing with others."""

    page: Page
    url: str
    faults: list[str] = field(default_factory=list)
    posted: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message))
        self.page.on("request", self._note)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(message.text)

    def _note(self, request: Request) -> None:
        if not request.url.startswith(self.url):
            self.faults.append(request.url)
        if request.method == "POST" and request.url.endswith("/reports"):
            self.posted.append(request.post_data or "")

    def open(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page

    def log_in(self, token: str) -> Page:
        self.open("/login")
        self.page.fill("#token", token)
        self.page.click("form button")
        return self.page

    def choose(self, *places: int) -> None:
        """Choose an answer to each question by its place."""
        for card, place in zip(self.page.locator(".question").all(), places, strict=True):
            card.locator(".choice").nth(place).click()

    def send(self) -> None:
        self.page.click("#form button")


@dataclass
class Running:
    """The service, and windows to it."""

    url: str
    token: str
    store: Any
    site: Site
    browser: Browser | None = None

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work on the store; this thread's event loop is the browser's."""
        with ThreadPoolExecutor() as threads:
            return threads.submit(asyncio.run, work).result()

    def survey(self, **fields: Any) -> str:
        """The id of a new survey of two questions."""
        attributes = [{"name": name, "labels": LIKE} for name in ("sleep", "mood")]
        return str(self.site.create(**{"schema": {"attributes": attributes}, **fields})["id"])

    @contextmanager
    def window(self, url: str | None = None, **options: Any) -> Iterator[Window]:
        """A window of a new person; nothing must have gone wrong in it."""
        assert self.browser is not None
        options = {"viewport": PHONE, "locale": "en-GB", **options}
        context = self.browser.new_context(**options)
        window = Window(context.new_page(), url or self.url)
        window.watch()
        yield window
        context.close()
        assert window.faults == []


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    """The service over an empty store."""
    with (
        application(folder) as made,
        listening(made.app) as url,
        httpx.Client(base_url=url, timeout=30, trust_env=False) as client,
    ):
        yield Running(url, made.token, made.store, Site(client, made.token))
