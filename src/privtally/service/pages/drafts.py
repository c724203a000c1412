"""A survey as it is typed into the form: text that may still be wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp

from privtally.bins import BinRange
from privtally.documents.plan import check_epsilon
from privtally.errors import CampaignError, SchemaError
from privtally.names import MAX_PIVOT_GUESS
from privtally.schema import Attribute, Schema
from privtally.service.advice import Advice, Advise
from privtally.service.operations import NewCampaign
from privtally.store.surveys import Options

MOST_QUESTIONS = 100
SLIDER = (0.5, 6.0)
"""The budgets that the form offers."""


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
        if self.kind != "numbers":
            lines = (line.strip() for line in self.labels.splitlines())
            return Attribute(self.name, tuple(line for line in lines if line), optional=self.optional)
        try:
            start, end, width = (_number(text) for text in (self.start, self.end, self.width))
        except ValueError:
            raise SchemaError(f"question '{self.name}' needs numbers as its least and largest and as a step") from None
        decimals = any(isinstance(number, float) for number in (start, end, width))
        bins = BinRange(start, end, width)
        return Attribute(self.name, optional=self.optional, bins=bins, decimals=decimals, clamp=True)


@dataclass(frozen=True)
class Draft:
    """Everything that the form holds."""

    title: str = ""
    about: str = ""
    questions: tuple[DraftQuestion, ...] = field(default=(DraftQuestion(),))
    epsilon: float = 2.0
    people: int = 1_000
    published: bool = False

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
        except ValueError:
            raise CampaignError("the privacy budget and the number of people must be numbers") from None
        check_epsilon(epsilon)
        return cls(
            title=form.get("title", "").strip(),
            about=" ".join(form.get("about", "").split()),
            questions=tuple(questions) or (DraftQuestion(),),
            epsilon=epsilon,
            people=people,
            published="published" in form,
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
            raise SchemaError("a survey needs at least one question with its answers")
        return Schema(tuple(own.attribute() for own in asked))

    def advice(self, advise: Advise) -> Advice:
        """What is recommended for these questions and people."""
        return advise(self.schema(), self.epsilon, self.people, MAX_PIVOT_GUESS)

    def campaign(self) -> NewCampaign:
        """A campaign as it is recommended for these questions and people."""
        options = Options(published=self.published)
        return NewCampaign(self.title, self.schema(), self.epsilon, "auto", self.people, options=options)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


SAMPLE = Draft(
    title="How was your week?",
    about="We are a small team that asks how people feel at work. It takes a minute.",
    questions=(
        DraftQuestion("How was your sleep?", labels="good\nso-so\nbad"),
        DraftQuestion("How was your mood?", labels="good\nso-so\nbad"),
        DraftQuestion("How was your food?", labels="good\nso-so\nbad"),
    ),
)
