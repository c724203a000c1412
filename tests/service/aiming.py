"""Made-up requests, aimed at campaigns that exist: the unaimed ones never get past "there is no such campaign"."""

import json
import zlib
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from schemathesis import Case, GenerationMode
from schemathesis.core.parameters import ParameterLocation

from tests.service.site import Site, reports_to, schema_document

AnyCase = Case[Any]
UNKNOWN = "0" * 64
SIZES = (3, 3)


@dataclass
class Targets:
    """Campaigns in every state, made anew for every operation, since some operations end them."""

    site: Site
    campaigns: dict[str, list[str]] = field(default_factory=dict)

    def of(self, operation: str) -> list[str]:
        if operation not in self.campaigns:
            self.campaigns[operation] = self._made()
        return self.campaigns[operation]

    def heed(self, case: AnyCase, status: int) -> None:
        """Put a closed campaign in the place of one that was deleted."""
        own = self.campaigns.get(case.operation.label, [])
        campaign = (case.path_parameters or {}).get("campaign_id")
        if case.method == "DELETE" and status == HTTPStatus.NO_CONTENT and campaign in own:
            own[own.index(campaign)] = self._closed()

    def _made(self) -> list[str]:
        empty, answered, advanced = (self._open() for _ in range(3))
        for campaign in (answered, advanced):
            self.site.send(campaign, *reports_to(self.site.plan(campaign), 60))
        self.site.advance(advanced, advanced)
        one_phase, with_tokens = self._open(mechanism="smp"), self._open(tokens=True)
        return [UNKNOWN, empty, answered, advanced, one_phase, with_tokens, self._closed()]

    def _open(self, mechanism: str = "corr-rr", *, tokens: bool = False) -> str:
        options = {"people": 100, "published": mechanism == "smp", "tokens": tokens}
        return str(self.site.create(mechanism=mechanism, options=options)["id"])

    def _closed(self) -> str:
        campaign = self._open()
        self.site.send(campaign, *reports_to(self.site.plan(campaign), 20))
        self.site.close(campaign)
        return campaign


def aim(case: AnyCase, targets: Targets) -> AnyCase:
    """Change a made-up request, by a hash of itself, so that it asks for something that is there."""
    chosen = zlib.crc32(repr((case.path_parameters, case.query, case.body)).encode())
    if as_described(case, ParameterLocation.PATH) and case.path_parameters:
        known = targets.of(case.operation.label)
        case.path_parameters["campaign_id"] = known[chosen % len(known)]
    if as_described(case, ParameterLocation.QUERY) and "title" in (case.query or {}) and chosen % 2:
        case.query["title"] = "Sleep"
    if as_described(case, ParameterLocation.BODY) and chosen % 4:
        case.body = _aimed_body(case, chosen)
    return case


def as_described(case: AnyCase, part: ParameterLocation) -> bool:
    """Whether a part of the request is as the document says."""
    assert case.meta is not None
    found = case.meta.components.get(part)
    return found is None or found.mode is GenerationMode.POSITIVE


def _aimed_body(case: AnyCase, chosen: int) -> Any:
    """A body that is right but for one field that was made up."""
    campaign = case.path_parameters.get("campaign_id", UNKNOWN)
    report = {"format": "privtally.report/1", "plan": campaign, "id": f"{chosen:032x}", "codes": [0, chosen % 3]}
    if isinstance(case.body, str):
        return f"{json.dumps(report)}\n{case.body}\n{json.dumps(report)}"
    if not isinstance(case.body, dict):
        return case.body
    right: dict[str, Any]
    if "codes" in case.body:
        right = report
    elif "plan" in case.body:
        right = {"plan": campaign}
    else:
        right = {"title": "Sleep", "schema": schema_document(SIZES), "epsilon": 2.0, "mechanism": "corr-rr"}
        if chosen & 64:
            right |= {"mechanism": "auto", "people": 1 + chosen % 10_000}
    names = [None, *case.body]
    made_up = names[chosen // 4 % len(names)]
    return right if made_up is None else {**right, made_up: case.body[made_up]}
