"""Which labels of two attributes go together, from the schema alone.

1. What the schema declares for both attributes.
2. The same labels, in any order: each is a class.
3. Both ordered: as many classes as the shorter one has labels; label i of k belongs to class ⌊i·classes/k⌋.
4. Else nothing goes together, even if some labels are the same: whether "other" means the same twice only a declaration
   can say.

"No answer" of an optional attribute is always a class of its
own; where the other attribute is not optional, no label of it belongs to that class.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from privtally.schema import Attribute, Schema

Class = tuple[tuple[int, ...], tuple[int, ...]]
"""The codes of both attributes that belong to a class."""
Classes = tuple[Class, ...]


def alignment_of(schema: Schema, one: int, two: int) -> Classes | None:
    """The classes of two attributes by their places; None where nothing goes together."""
    first, second = schema.attributes[one], schema.attributes[two]
    classes = _declared(schema, first, second) or _derived(first, second)
    if classes is None:
        return None
    skipped = [(attribute.size - 1,) * attribute.optional for attribute in (first, second)]
    return (*classes, (skipped[0], skipped[1])) if first.optional or second.optional else classes


def label_by_label(schema: Schema, places: Sequence[int]) -> bool:
    """Whether all these attributes are aligned so that the same code stands for the same class in each of them."""
    if not schema.alignments and len({schema.attributes[own].labels for own in places}) == 1:
        return True
    return all(
        alignment_of(schema, one, two) == tuple(((code,), (code,)) for code in range(schema.attributes[one].size))
        for one, two in combinations(places, 2)
    )


def undeclared(schema: Schema, places: Sequence[int]) -> tuple[int, int] | None:
    """The first two of these attributes that share some labels although nothing goes together; None if no two do."""
    first: dict[object, int] = {}  # attributes with the same labels go together; names count only in declarations
    for own in places:
        attribute = schema.attributes[own]
        named = attribute.name if schema.alignments else ""
        first.setdefault((attribute.labels, attribute.optional, attribute.ordered, named), own)
    for one, two in combinations(first.values(), 2):
        shared = set.intersection(
            *(set(own.labels[: own.answers]) for own in map(schema.attributes.__getitem__, (one, two)))
        )
        if shared and alignment_of(schema, one, two) is None:
            return one, two
    return None


def _declared(schema: Schema, first: Attribute, second: Attribute) -> Classes | None:
    for alignment in schema.alignments:
        if first.name in alignment.names and second.name in alignment.names:
            return tuple(
                (_codes(first, own[first.name]), _codes(second, own[second.name])) for own in alignment.classes
            )
    return None


def _codes(attribute: Attribute, labels: Sequence[str]) -> tuple[int, ...]:
    place = {label: code for code, label in enumerate(attribute.labels)}
    return tuple(sorted(place[label] for label in labels))


def _derived(first: Attribute, second: Attribute) -> Classes | None:
    answers = [attribute.labels[: attribute.answers] for attribute in (first, second)]
    if answers[0] == answers[1]:
        return tuple(((code,), (code,)) for code in range(len(answers[0])))
    common = set(answers[0]) & set(answers[1])
    if len(common) == len(answers[0]) == len(answers[1]):
        place = {label: code for code, label in enumerate(answers[1])}
        return tuple(((code,), (place[label],)) for code, label in enumerate(answers[0]))
    if first.ordered and second.ordered:
        number = min(map(len, answers))
        cut = [list(_cut(len(own), number)) for own in answers]
        return tuple(zip(*cut, strict=True))
    return None


def _cut(labels: int, classes: int) -> Iterator[tuple[int, ...]]:
    """The codes of each class, in order."""
    starts = [-(-own * labels // classes) for own in range(classes + 1)]
    for start, end in pairwise(starts):
        yield tuple(range(start, end))
