"""A browser without a screen: forms and pages over HTTP."""

from typing import Any

from tests.service.site import Site, reports_to

ORIGIN = "http://testserver.local"

FORM = {
    "title": "How was your week?",
    "about": "A team that asks.",
    "people": "400",
    "epsilon": "2",
    "q0-name": "sleep",
    "q0-kind": "labels",
    "q0-labels": "well\n so-so \nbadly\n",
    "q1-name": "mood",
    "q1-kind": "labels",
    "q1-labels": "well\nso-so\nbadly",
    "q2-name": "food",
    "q2-kind": "labels",
    "q2-labels": "well\nso-so\nbadly",
}


class Visitor(Site):
    """Requests as a browser makes them; `client` keeps cookies."""

    def open(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers=headers, follow_redirects=False)

    def submit(self, path: str, origin: str = ORIGIN, **fields: str) -> Any:
        return self.client.post(path, data=fields, headers={"Origin": origin}, follow_redirects=False)

    def answer(self, campaign: str, people: int, seed: int = 1) -> None:
        """So many people answer the plan that is open."""
        self.send(campaign, *reports_to(self.plan(campaign), people, seed))

    def create_by_form(self, **fields: str) -> str:
        """The id of a new survey."""
        answer = self.submit("/new", **{**FORM, **fields})
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"].removeprefix("/c/"))

    def create_in_two_phases(self, **fields: Any) -> str:
        """The id of a new survey with the questions of the form, which learns from a first phase."""
        attributes = [{"name": FORM[f"q{place}-name"], "labels": ["well", "so-so", "badly"]} for place in range(3)]
        return str(self.create(title=FORM["title"], schema={"attributes": attributes}, **fields)["id"])
