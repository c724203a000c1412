"""Attributes merged to one number of classes, as the paper has it: a report then tells classes only.

The attribute with the fewest answers decides: classes are those in which it is aligned with all others, joined where
these differ. The labels of a merged attribute are its classes; it still takes the answers that they stand for.
"""

from collections.abc import Sequence
from itertools import chain

from privtally.alignments import Alignment
from privtally.errors import PlanError
from privtally.mechanisms.alignment import Classes, alignment_of
from privtally.schema import Attribute, Schema


def coarsened(schema: Schema) -> Schema:
    """The schema of the same attributes with one number of classes, aligned label by label."""
    places = range(len(schema.attributes))
    least = min(places, key=lambda own: schema.attributes[own].answers)
    found = {own: _answers_of(schema, least, own) for own in places}
    joined = _joined(list(found.values()))
    if len(joined) < 2:
        raise PlanError(
            "these alignments join all answers in one class, so that nothing is left to ask; declare others"
        )
    classes = [[_others(found[own], together) for together in joined] for own in places]
    merged = [_merged(attribute, own) for attribute, own in zip(schema.attributes, classes, strict=True)]
    aligned: list[dict[str, tuple[str, ...]]] = [
        {own.name: (own.labels[_place(own, codes, number)],) for own, codes in zip(merged, classes, strict=True)}
        for number in range(len(joined))
    ]
    return Schema(tuple(merged), (Alignment(tuple(aligned)),) if len(merged) > 1 else ())


def _answers_of(schema: Schema, least: int, own: int) -> Classes:
    """The classes of the deciding attribute's answers and of another one's, "no answer" aside."""
    if least == own:
        return tuple(((code,), (code,)) for code in range(schema.attributes[own].answers))
    classes = alignment_of(schema, least, own)
    if classes is None:
        names = schema.names[least], schema.names[own]
        raise PlanError(f"questions '{names[0]}' and '{names[1]}' are not aligned; declare which answers go together")
    skipped = schema.attributes[least].optional or schema.attributes[own].optional
    return classes[:-1] if skipped else classes


def _joined(alignments: Sequence[Classes]) -> list[set[int]]:
    """The deciding attribute's codes that share a class in any of the alignments, directly or through others."""
    joined: list[set[int]] = []
    for classes in alignments:
        for codes, _ in classes:
            touched = [own for own in joined if own & set(codes)]
            joined = [own for own in joined if own not in touched]
            joined.append(set(codes).union(*touched))
    return sorted(joined, key=min)


def _others(classes: Classes, together: set[int]) -> list[int]:
    return sorted(code for codes, others in classes if set(codes) <= together for code in others)


def _merged(attribute: Attribute, classes: Sequence[list[int]]) -> Attribute:
    """An attribute whose labels are these classes of codes, in their order, or in that of its bins."""
    if attribute.numbers is None:
        answers = attribute.merged or tuple((label,) for label in attribute.labels)
        labels = tuple(tuple(label for code in own for label in answers[code]) for own in classes)
        return Attribute(attribute.name, optional=attribute.optional, merged=labels)
    edges, in_order = attribute.numbers.edges, sorted(classes)
    if list(chain.from_iterable(in_order)) != list(range(attribute.answers)):
        raise PlanError(f"question '{attribute.name}' can only be merged into wider bins; align bins side by side")
    kept = (*(edges[own[0]] for own in in_order), edges[-1])
    return Attribute(
        attribute.name, optional=attribute.optional, bins=kept, decimals=attribute.decimals, clamp=attribute.clamp
    )


def _place(merged: Attribute, classes: Sequence[list[int]], number: int) -> int:
    """The code of a class in a merged attribute: bins keep their order."""
    return number if merged.numbers is None else sorted(classes).index(classes[number])
