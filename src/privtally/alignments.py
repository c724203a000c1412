"""Alignments: which labels of different questions go together, declared before anybody is asked.

An alignment divides the labels of two or more attributes into the same number of classes. "No answer" of an optional
attribute is never named: it is a class of its own.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import force_setattr

from privtally.errors import SchemaError, listed
from privtally.exact.wire import normal

Labels = tuple[str, ...]

MOST_SHOWN = 8
"""How many labels a refusal lists."""


class Alignment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Classes in order; each names the labels of every aligned attribute that belong to it. All text is in form NFC."""

    classes: tuple[dict[str, Labels], ...]

    def __post_init__(self) -> None:
        classes = tuple(
            {normal(name): tuple(map(normal, labels)) for name, labels in own.items()} for own in self.classes
        )
        force_setattr(self, "classes", classes)
        if len(classes) < 2:
            raise SchemaError("an alignment needs at least two classes; declare which labels go together")
        if len(classes[0]) < 2:
            raise SchemaError("every class of an alignment must name labels of at least two attributes")
        if any(set(own) != set(classes[0]) for own in classes):
            raise SchemaError("every class of an alignment must name labels of the same attributes")

    def __hash__(self) -> int:
        return hash(tuple(frozenset(own.items()) for own in self.classes))

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that are aligned."""
        return tuple(self.classes[0])

    def check(self, answers: Mapping[str, Labels]) -> None:
        """Refuse classes that do not divide each attribute's labels, "no answer" aside."""
        for name in self.names:
            if name not in answers:
                raise SchemaError(
                    f"an alignment names '{name}', which is no attribute of the schema; use its name as declared"
                )
            if not all(own[name] for own in self.classes):
                raise SchemaError(f"a class of an alignment has no label of attribute '{name}'")
            named = [label for own in self.classes for label in own[name]]
            known = set(answers[name])
            if unknown := [label for label in named if label not in known]:
                raise SchemaError(
                    f"an alignment names '{unknown[0]}', which is no label of attribute '{name}' "
                    f"({listed(answers[name], MOST_SHOWN)}); 'no answer' is never named"
                )
            if len(set(named)) < len(named):
                twice = next(label for label in named if named.count(label) > 1)
                raise SchemaError(f"an alignment names '{twice}' of attribute '{name}' twice; a label is in one class")
            if missed := sorted(known - set(named)):
                raise SchemaError(
                    f"an alignment leaves out '{missed[0]}' of attribute '{name}'; every label belongs to a class"
                )


def check_alignments(alignments: Sequence[Alignment], answers: Mapping[str, Labels]) -> None:
    """Refuse alignments that do not fit the attributes' answers, or align two attributes twice."""
    for place, alignment in enumerate(alignments):
        alignment.check(answers)
        for earlier in alignments[:place]:
            if len(both := [name for name in alignment.names if name in earlier.names]) > 1:
                raise SchemaError(f"attributes '{both[0]}' and '{both[1]}' are aligned twice; declare them once")
