"""A service as a client sees it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privtally.documents.plan import Plan, load_plan
from privtally.documents.report import Report, Reports
from privtally.lab.population import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records

NDJSON = "application/x-ndjson"

ALIGNED: dict[str, Any] = {
    "attributes": [
        {"name": "sleep", "labels": ["well", "so-so", "badly"]},
        {"name": "week", "labels": ["good", "bad"]},
    ],
    "alignments": [
        {"classes": [{"sleep": ["well"], "week": ["good"]}, {"sleep": ["so-so", "badly"], "week": ["bad"]}]}
    ],
}
"""Questions with different answers of which some go together."""


def schema_document(sizes: tuple[int, ...] = (3, 3)) -> dict[str, Any]:
    attributes = [{"name": f"q{own}", "labels": [f"a{code}" for code in range(size)]} for own, size in enumerate(sizes)]
    return {"attributes": attributes}


def reports_to(plan: Plan, people: int, seed: int = 1) -> Reports:
    """Reports of people whose answers go together."""
    made_up = np.random.default_rng(seed)
    first = made_up.integers(0, plan.schema.sizes[0], people)
    codes = np.column_stack(
        [np.where(made_up.random(people) < 0.7, np.minimum(first, size - 1), 0) for size in plan.schema.sizes]
    )
    return respond_many(plan, Records(plan.schema, codes.astype(np.uint8)), seeded(seed))


def contradictory(plan: Plan) -> list[Report]:
    """Made-up reports to an rs-fd plan of six questions with six answers that are next to impossible at a large ε."""
    codes = [tuple((number + place * (number // 6)) % 6 for place in range(6)) for number in range(20)]
    return [Report(plan.digest, f"{number:032x}", codes[number % 20]) for number in range(640)]


@dataclass
class Site:
    """Requests to a service; `client` is httpx's or of its shape."""

    client: Any
    token: str

    @property
    def admin(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def create(self, status: int = 201, **fields: Any) -> Any:
        body = {"title": "Sleep", "schema": schema_document(), "epsilon": 2.0, "mechanism": "corr-rr", **fields}
        return self.ok(self.client.post("/v1/campaigns", json=body, headers=self.admin), status)

    def plan(self, campaign: str, **headers: str) -> Plan:
        answer = self.client.get(f"/v1/campaigns/{campaign}/plan", headers=headers)
        assert answer.status_code == 200, answer.text
        plan = load_plan(answer.content)
        assert answer.headers["etag"] == f'"{plan.digest}"'
        return plan

    def send(self, campaign: str, *reports: Report | bytes, **headers: str) -> Any:
        """Send reports as the kind that their number asks for."""
        bodies = [own if isinstance(own, bytes) else own.dump() for own in reports]
        kind = "application/json" if len(bodies) == 1 else NDJSON
        return self.post(campaign, b"\n".join(bodies), kind, 200, **headers)

    def post(self, campaign: str, body: bytes, kind: str, status: int = 200, **headers: str) -> Any:
        answer = self.client.post(
            f"/v1/campaigns/{campaign}/reports", content=body, headers={"Content-Type": kind, **headers}
        )
        return self.ok(answer, status)

    def advance(self, campaign: str, plan: str, status: int = 200) -> Any:
        answer = self.client.post(f"/v1/campaigns/{campaign}/advance", json={"plan": plan}, headers=self.admin)
        return self.ok(answer, status)

    def refresh(self, campaign: str, plan: str, status: int = 200) -> Any:
        answer = self.client.post(f"/v1/campaigns/{campaign}/refresh", json={"plan": plan}, headers=self.admin)
        return self.ok(answer, status)

    def close(self, campaign: str) -> Any:
        return self.ok(self.client.post(f"/v1/campaigns/{campaign}/close", headers=self.admin))

    def counters(self, campaign: str) -> list[int]:
        answer = self.ok(self.client.get(f"/v1/campaigns/{campaign}/counters", headers=self.admin))
        return [phase["reports"] for phase in answer]

    @staticmethod
    def ok(answer: Any, status: int = 200) -> Any:
        assert answer.status_code == status, answer.text
        if status >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            problem = answer.json()
            assert problem["status"] == status
            return problem["type"].removeprefix("urn:privtally:")
        return answer.json() if answer.content else None


def receipt(accepted: int = 0, repeated: int = 0, refused: Iterable[tuple[int, str]] = ()) -> dict[str, Any]:
    return {
        "accepted": accepted,
        "repeated": repeated,
        "refused": [{"index": index, "reason": reason} for index, reason in refused],
    }


def edited(report: Report, **fields: Any) -> bytes:
    """A report's JSON with fields changed, added or (None) as null."""
    return json.dumps({**json.loads(report.dump()), **fields}).encode()
