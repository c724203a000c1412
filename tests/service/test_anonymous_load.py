"""The most expensive request that anybody may send costs a bounded multiple of a plain one, on every open route.

Costs are processor time of the event loop's thread, so that what others do on the machine does not count, and the most
memory at once; both of the same run. Routes that need the administrator are asked without a token.
"""

import asyncio
import itertools
import json
import time
import tracemalloc
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from privtally.documents.plan import load_plan
from privtally.lab.advise import recommend
from privtally.service.api import LONGEST, MOST_REPORTS
from privtally.service.app import MOST_BYTES, create_app
from privtally.service.collector import PAUSE, Estimates
from privtally.service.operations import new_admin_token
from privtally.service.pages import add_pages
from privtally.service.pages.rendering import Setup
from privtally.service.problems import MOST_FIELDS, MOST_FORM_BYTES
from privtally.store import open_store
from tests.service.site import NDJSON, reports_to, schema_document

HEADER = 1 << 16
"""The longest headers that the server passes on."""
REPEATS = 3
PATIENCE = 600.0
"""Seconds in which every estimate is finished, so that it is a new one whose cost is measured."""
MOST_TIME, MOST_TIME_WITH_BODY = 25, 150
"""Bounds in plain requests; 13 and 37 were measured."""
MOST_MEMORY, MOST_MEMORY_TO_ESTIMATE = 5, 20
"""Bounds in the largest bodies; 3 were measured, and 14 for a new estimate, of which two are computed at once."""


@dataclass(frozen=True)
class Asked:
    """A request."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    method: str = "GET"
    estimates: str = ""
    """The campaign whose estimate is asked for: it is sent a report, and the pause passes, before each such request."""


@dataclass(frozen=True)
class Cost:
    """Seconds of the event loop's processor time, and bytes."""

    time: float
    memory: int


async def answer(app: Any, asked: Asked) -> tuple[int, bytes]:
    """The status and the body of an answer."""
    path, _, query = asked.path.partition("?")
    headers = {"host": "localhost", "content-length": str(len(asked.body)), **asked.headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": asked.method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": asked.body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


class Service:
    """The application while it runs, the administrator's token, and the time that its estimates go by."""

    def __init__(self, store: Any, token: str) -> None:
        self.now, self.token = 0.0, token
        self.app = create_app(store, recommend, Estimates(store, clock=lambda: self.now, patience=PATIENCE))
        add_pages(self.app, Setup(recommend))
        self._seeds = itertools.count(2)

    async def cost(self, asked: Asked) -> Cost:
        """What a request costs that was sent before."""
        await self._prepared(asked)
        await answer(self.app, asked)
        took = []
        for _ in range(1 if asked.estimates else REPEATS):
            await self._prepared(asked)
            begin = time.thread_time()
            await answer(self.app, asked)
            took.append(time.thread_time() - begin)
        await self._prepared(asked)
        tracemalloc.start()
        await answer(self.app, asked)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return Cost(min(took), most)

    async def _prepared(self, asked: Asked) -> None:
        """Make the next estimate one that must be computed."""
        if asked.estimates:
            self.now += 2 * PAUSE
            more = await batch(self.app, asked.estimates, 1, next(self._seeds))
            assert json.loads((await answer(self.app, more))[1])["accepted"] == 1


@asynccontextmanager
async def service(folder: Path) -> AsyncIterator[Service]:
    store = await open_store(f"sqlite:///{folder}/store.db")
    running = Service(store, await new_admin_token(store))
    async with running.app.lifespan():
        yield running
    await store.close()


async def campaign(app: Any, token: str, sizes: tuple[int, ...]) -> str:
    """The id of a new campaign with published estimates that somebody has answered."""
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    new = {"title": "Load", "schema": schema_document(sizes), "epsilon": 2.0, "mechanism": "smp"}
    body = json.dumps({**new, "options": {"published": True}}).encode()
    status, created = await answer(app, Asked("/v1/campaigns", headers, body, "POST"))
    assert status == 201
    own = str(json.loads(created)["id"])
    assert json.loads((await answer(app, await batch(app, own)))[1])["accepted"] == MOST_REPORTS
    return own


known_plan = cache(load_plan)


async def batch(app: Any, own: str, people: int = MOST_REPORTS, seed: int = 1) -> Asked:
    """Reports to a campaign, as many as a request may have, the same for a seed."""
    _, document = await answer(app, Asked(f"/v1/campaigns/{own}/plan"))
    lines = b"\n".join(report.dump() for report in reports_to(known_plan(document), people, seed))
    return Asked(f"/v1/campaigns/{own}/reports", {"content-type": NDJSON}, lines, "POST")


def routes(app: Any) -> dict[tuple[str, str], bool]:
    """Every method and path of the application, and whether it is guarded."""
    return {
        (method, route.path_format): bool(handler.resolve_guards())
        for route in app.routes
        for handler in route.route_handlers
        for method in handler.http_methods
        if method != "OPTIONS"
    }


def requests(plain: str, wide: str, large: str) -> dict[tuple[str, str], Sequence[Asked]]:
    """The most expensive requests to every open route: to a survey of many questions, or of many answers to each."""
    form = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost"}
    many, one = {"content-type": NDJSON}, {"content-type": "application/json"}
    languages = {"accept-language": "a," * (HEADER // 2)}
    cookies = {"cookie": "a;" * (HEADER // 2)}
    start = f'{{"format":"privtally.report/1","plan":"{plain}","id":"{"0" * 32}","codes":['.encode()
    longest = start + b"0," * ((LONGEST - len(start) - 3) // 2) + b"0]}"
    endless = start + b"0," * ((MOST_BYTES - len(start) - 3) // 2) + b"0]}"
    bodies = [
        (one, endless),
        (one, b"[" * MOST_BYTES),
        (one, b'{"a":' * (MOST_BYTES // 5)),
        (many, b"\n" * MOST_BYTES),
        (many, b"abc\n" * (MOST_BYTES // 4)),
        (many, b"\n".join(MOST_REPORTS * [longest])),
        (many, b"\n".join(MOST_REPORTS * [b"{" + b" " * (MOST_BYTES // MOST_REPORTS - 2)])),
    ]
    surveys = (plain, wide, large)
    own = "/v1/campaigns/{campaign_id}"
    estimates = [
        Asked(f"/v1/campaigns/{one}/estimates?method={method}&by_round={rounds}", estimates=one)
        for one, method, rounds in (
            (wide, "likelihood", "false"),
            (large, "likelihood", "true"),
            (wide, "unbiased", "true"),
        )
    ]
    known = {"if-none-match": f'"{large}"'}
    return {
        ("GET", "/livez"): [Asked("/livez", cookies)],
        ("GET", "/readyz"): [Asked("/readyz", cookies)],
        ("GET", "/schema"): [Asked("/schema")],
        ("GET", "/schema/{path}"): [Asked("/schema/x")],
        ("GET", "/schema/openapi.json"): [Asked("/schema/openapi.json")],
        ("GET", "/static/{name}"): [Asked("/static/htmx.min.js")],
        ("GET", "/client/privtally.js"): [Asked("/client/privtally.js")],
        ("GET", f"{own}/plan"): [Asked(f"/v1/campaigns/{large}/plan", headers) for headers in ({}, known)],
        ("GET", f"{own}/plans"): [Asked(f"/v1/campaigns/{large}/plans", headers) for headers in ({}, known)],
        ("GET", f"{own}/estimates"): estimates,
        ("POST", f"{own}/reports"): [
            Asked(f"/v1/campaigns/{plain}/reports", kind, body, "POST") for kind, body in bodies
        ],
        ("GET", "/s/{campaign_id}"): [Asked(f"/s/{one}", languages) for one in surveys],
        ("GET", "/s/{campaign_id}/totals"): [Asked(f"/s/{wide}/totals", languages, estimates=wide)],
        ("GET", "/login"): [Asked("/login?" + "a&" * (HEADER // 2), languages), Asked("/login", cookies)],
        ("POST", "/login"): [
            Asked("/login", form, b"a&" * (MOST_BYTES // 2), "POST"),
            Asked("/login", form, b"a&" * (MOST_FIELDS - 1), "POST"),
            Asked("/login", form, b"token=" + b"a" * (MOST_FORM_BYTES - 6), "POST"),
            Asked("/login", {**form, "content-type": "multipart/form-data; boundary=a"}, b"--a\r\n" * 999_999, "POST"),
        ],
    }


def test_every_open_route_has_its_most_expensive_requests() -> None:
    open_to_all = {route for route, guarded in routes(Service(None, "").app).items() if not guarded}
    assert set(requests("", "", "")) == open_to_all


def test_no_open_request_costs_many_plain_ones(tmp_path: Path) -> None:
    async def costs() -> tuple[float, list[tuple[str, Asked, Cost]]]:
        async with service(tmp_path) as running:
            app, token = running.app, running.token
            plain = await campaign(app, token, (3, 3))
            wide = await campaign(app, token, (12,) * 100)
            large = await campaign(app, token, (65_536,) * 2)
            open_to_all = requests(plain, wide, large)
            asked = [(path, one) for (_, path), every in open_to_all.items() for one in every]
            asked += [(path, refused(method, path)) for (method, path), guarded in routes(app).items() if guarded]
            asked += [("/v1/campaigns/{campaign_id}/reports", await batch(app, wide))]
            asked += [("nowhere", Asked("/nowhere", {"accept": "text/html," * (HEADER // 10)}))]
            asked += [("OPTIONS", Asked(f"/s/{plain}", method="OPTIONS"))]
            unit = (await running.cost(Asked(f"/s/{plain}"))).time
            return unit, [(path, one, await running.cost(one)) for path, one in asked]

    unit, found = asyncio.run(costs())
    for path, asked, own in found:
        ratio, most = own.time / unit, MOST_TIME_WITH_BODY if asked.body else MOST_TIME
        most_memory = MOST_MEMORY_TO_ESTIMATE if asked.estimates else MOST_MEMORY
        figures = f"{asked.method} {path} {asked.body[:9]!r}: {ratio:.1f} plain requests, {own.memory / 2**20:.1f} MiB"
        figures += f" for a new estimate: {asked.path.partition('?')[2]}" if asked.estimates else ""
        print(figures)  # noqa: T201  # for the guide
        assert ratio <= most, figures
        assert own.memory <= most_memory * MOST_BYTES, figures


def refused(method: str, path: str) -> Asked:
    """A request of somebody else to what needs the administrator, with the largest body where it takes one."""
    body = b"" if method in ("GET", "DELETE") else b"a&" * (MOST_BYTES // 2)
    headers = {"origin": "http://localhost", "content-type": "application/x-www-form-urlencoded"}
    return Asked(path.replace("{campaign_id}", "x").replace("{name}", "csv"), headers, body, method)
