"""schemathesis against a service: its requests are made up from the OpenAPI document, which every answer must fit."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import schemathesis
from schemathesis import Response
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from tests.service.aiming import AnyCase, Targets, aim
from tests.service.site import NDJSON, Site

REPORTS = "POST /v1/campaigns/{campaign_id}/reports"
CAMPAIGN = "GET /v1/campaigns/{campaign_id}"
BARE = "/(close|counters|plans)$"
UNFED = {"extra-data-sources": {"responses": False}}
OWN, PLANTED = "^/(?!planted)", "^/planted"
"""Paths of the service, and of what a test planted in it."""


@dataclass(frozen=True)
class Fault:
    """What was wrong with an answer, or kept schemathesis from asking."""

    operation: str
    kind: str
    words: str


@dataclass
class Found:
    """How many requests there were, with which answers, and what was wrong with some."""

    answers: Counter[int] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return self.answers.total()

    def hear(self, event: Any) -> None:
        match event:
            case events.ScenarioFinished():
                for done in event.recorder.interactions.values():
                    self.answers[0 if done.response is None else done.response.status_code] += 1
                for check in chain.from_iterable(event.recorder.checks.values()):
                    if check.failure_info is not None:
                        self._note(event.recorder.label, check.failure_info.failure)
            case events.NonFatalError():
                self._note(event.label, event.value)
            case events.FatalError():
                self._note("", event.exception)

    def _note(self, operation: str, fault: Exception) -> None:
        self.faults.append(Fault(operation, type(fault).__name__, str(fault)))


@schemathesis.serializer(NDJSON)
def as_lines(_: Any, value: Any) -> Any:
    """Made-up text as it is, and anything else as one line."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def fuzz(site: Site, examples: int, headers: dict[str, str], paths: str = OWN) -> Found:
    """Make up requests to every operation, so many besides the systematic ones to each that takes something."""
    document = site.client.get("/schema/openapi.json").json()
    document["paths"] = {path: own for path, own in document["paths"].items() if re.search(paths, path)}
    settings = SchemathesisConfig.from_dict(
        {
            "base-url": str(site.client.base_url),
            "headers": headers,
            "continue-on-failure": True,
            "generation": {"max-examples": examples, "deterministic": True, "no-shrink": True, "database": "none"},
            # Ids of campaigns are random; requests made up from earlier answers would differ from run to run.
            "phases": {
                "coverage": UNFED,
                "fuzzing": {**UNFED, "error-feedback": {"enabled": False}},
                "stateful": {"enabled": False},
            },
            # Some campaigns are refused by rules that a schema cannot say.
            "checks": {"positive_data_acceptance": {"enabled": False}},
            "operations": [
                # What is no report is refused inside a receipt.
                {"include-name": REPORTS, "checks": {"negative_data_rejection": {"enabled": False}}},
                # There is no way to ask these wrongly that a search for long would find.
                {"include-path-regex": BARE, "generation": {"mode": "positive"}},
                {"include-name": CAMPAIGN, "generation": {"mode": "positive"}},
            ],
        }
    )
    schema = schemathesis.openapi.from_dict(document, config=settings)
    targets, found = Targets(site), Found()

    @schema.hook
    def map_case(_: Any, case: AnyCase) -> AnyCase:
        return aim(case, targets)

    @schema.hook
    def after_call(_: Any, case: AnyCase, response: Response) -> None:
        targets.heed(case, response.status_code)

    for event in from_schema(schema).execute():
        found.hear(event)
    return found
