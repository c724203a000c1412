"""A survey as it is typed into the form: text that may still be wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp

from privtally.documents.plan import check_epsilon
from privtally.exact import wire
from privtally.names import HIDE_AMONG, HideAmong
from privtally.schema import Attribute, Schema
from privtally.service.advice import Advice, Advise
from privtally.service.operations import NewCampaign
from privtally.service.pages.ranges import read_range
from privtally.service.pages.refusals import PageRefusalError
from privtally.service.pages.words import Words
from privtally.store.options import Options

MOST_QUESTIONS = 100
LEAST_LABELS = 2
SLIDER = (0.5, 6.0)
"""The budgets that the form offers."""
HIDING: Mapping[str, HideAmong] = {"1": 1, "2": 2, "all": "all"}
"""What the form offers to hide the question among."""


@dataclass(frozen=True)
class DraftQuestion:
    """A question with its answers, one a line, or with a range of numbers."""

    name: str = ""
    kind: str = "labels"
    labels: str = ""
    start: str = ""
    end: str = ""
    width: str = ""
    optional: bool = False

    @property
    def is_blank(self) -> bool:
        return not any((self.name, self.labels.strip(), self.start, self.end, self.width))

    def attribute(self) -> Attribute:
        """The question as the schema has it; refused where it does not say clearly what may be answered."""
        if not self.name:
            raise PageRefusalError("draft.name")
        if self.kind != "numbers":
            lines = (line.strip() for line in self.labels.splitlines())
            labels = tuple(line for line in lines if line)
            if len(labels) < LEAST_LABELS:
                raise PageRefusalError("draft.few", name=self.name)
            if len(set(labels)) < len(labels):
                raise PageRefusalError("draft.same", name=self.name)
            return Attribute(self.name, labels, optional=self.optional)
        bins, decimals = read_range(self.name, self.start, self.end, self.width)
        return Attribute(self.name, optional=self.optional, bins=bins, decimals=decimals, clamp=True)


@dataclass(frozen=True)
class Draft:
    """Everything that the form holds."""

    title: str = ""
    about: str = ""
    questions: tuple[DraftQuestion, ...] = field(default=(DraftQuestion(),))
    epsilon: float = 2.0
    people: int = 1_000
    hide_among: HideAmong = HIDE_AMONG
    published: bool = False
    tokens: bool = False
    answers: int = 1
    """How many times one person may answer."""

    @classmethod
    def read(cls, form: Mapping[str, str]) -> "Draft":
        """The draft that a form states; what is missing is empty."""
        questions = []
        for place in range(MOST_QUESTIONS):
            if f"q{place}-name" not in form:
                break
            text = {
                name: form.get(f"q{place}-{name}", "").strip() for name in ("name", "kind", "start", "end", "width")
            }
            labels, optional = form.get(f"q{place}-labels", ""), f"q{place}-optional" in form
            questions.append(DraftQuestion(**text, labels=labels, optional=optional))
        try:
            epsilon, people = float(form.get("epsilon", "2")), int(form.get("people", "1000"))
            answers = int(form.get("answers", "1"))
            hide_among = HIDING[form.get("hide_among", str(HIDE_AMONG))]
        except (ValueError, KeyError):
            raise PageRefusalError("draft.numbers") from None
        if max(abs(people), abs(answers)) > wire.MAX_INTEGER:
            raise PageRefusalError("draft.large")
        check_epsilon(epsilon)
        return cls(
            title=form.get("title", "").strip(),
            about=" ".join(form.get("about", "").split()),
            questions=tuple(questions) or (DraftQuestion(),),
            epsilon=epsilon,
            people=people,
            hide_among=hide_among,
            published="published" in form,
            tokens="tokens" in form,
            answers=answers,
        )

    def changed(self, step: str) -> "Draft":
        """With one question more, or without one: "add" or "remove" and its place."""
        if step == "add":
            return replace(self, questions=(*self.questions, DraftQuestion())[:MOST_QUESTIONS])
        without = [own for place, own in enumerate(self.questions) if step != f"remove {place}"]
        return replace(self, questions=tuple(without) or (DraftQuestion(),))

    @property
    def surer(self) -> float:
        """How many times surer a report can make anybody."""
        return exp(self.epsilon)

    def schema(self) -> Schema:
        """The questions that are not blank."""
        asked = [own for own in self.questions if not own.is_blank]
        if not asked:
            raise PageRefusalError("draft.nothing")
        names = [own.name for own in asked]
        if twice := [name for name in names if names.count(name) > 1]:
            raise PageRefusalError("draft.twice", name=twice[0])
        return Schema(tuple(own.attribute() for own in asked))

    def advice(self, advise: Advise) -> tuple[Advice, Advice]:
        """What is recommended for these questions and people, and if a report may say which question it answers."""
        asked = self.schema(), self.epsilon, self.people
        return advise(*asked, hide_among=self.hide_among), advise(*asked, hide_among=1)

    def campaign(self) -> NewCampaign:
        """A campaign as it is recommended for these questions and people."""
        if not self.title:
            raise PageRefusalError("draft.title")
        options = Options(published=self.published, tokens=self.tokens, about=self.about)
        return NewCampaign(
            title=self.title,
            schema=self.schema(),
            epsilon=self.epsilon,
            mechanism="auto",
            people=self.people,
            answers=self.answers,
            hide_among=self.hide_among,
            options=options,
        )


def sample(words: Words) -> Draft:
    """A survey to start from, in the language of whoever writes it."""
    labels = words.say("sample.answers")
    asked = [words.say(key) for key in ("sample.sleep", "sample.mood", "sample.food")]
    questions = tuple(DraftQuestion(name, labels=labels) for name in asked)
    return Draft(title=words.say("sample.title"), about=words.say("sample.about"), questions=questions)
