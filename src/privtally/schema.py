"""What may be asked: attributes with declared labels. Nothing here is ever read off the data."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, cast

import msgspec
import numpy as np
from msgspec.structs import force_setattr

from privtally.alignments import Alignment, check_alignments
from privtally.bins import Bins, Declared
from privtally.declared import declared_labels
from privtally.errors import RecordError, SchemaError, listed
from privtally.exact import wire
from privtally.exact.arrays import Codes

MAX_LABELS = 65_536
NO_ANSWER = "no answer"
"""The last label of an attribute that may be skipped."""
SEPARATOR = " | "
"""What stands between the answers in the label of a class."""


class Attribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, dict=True):
    """One question and the answers it allows, in the order that gives them their codes 0, 1, 2 …

    Name and labels are kept in Unicode's form NFC, so that the same text is the same label however it was typed. Labels
    of a numeric attribute follow from its bins; an optional attribute has "no answer" as its last label.
    """

    name: str
    labels: tuple[str, ...] = ()
    optional: bool = False
    ordered: bool = False
    bins: Declared | None = None
    decimals: bool = False
    """Whether numbers may have decimals; of use with bins only, and so is `clamp`."""
    clamp: bool = False
    """Whether a number out of range belongs to the first or last bin, instead of being refused."""
    merged: tuple[tuple[str, ...], ...] = ()
    """The answers that each label stands for, where labels are classes of answers."""

    def __post_init__(self) -> None:
        force_setattr(self, "name", _checked(self.name, "a question's name"))
        where = f"question '{self.name}'"
        if isinstance(self.labels, str):
            raise SchemaError(f"{where} needs a list of answers, not one text; put it into a list")
        labels = tuple(_checked(label, f"an answer to {where}") for label in self.labels)
        self._check_merged(where)
        derived = tuple(map(SEPARATOR.join, self.merged)) if self.numbers is None else self.numbers.labels
        if derived:
            if labels not in ((), derived, (*derived, NO_ANSWER) if self.optional else derived):
                raise SchemaError(
                    f"the answers to {where} do not follow from its bins or classes; declare one of these"
                )
            labels = derived
        if self.numbers is not None:
            force_setattr(self, "bins", self.numbers.edges)
            force_setattr(self, "ordered", self.bins is not None)
        elif self.decimals or self.clamp:
            raise SchemaError(f"{where} has 'decimals' or 'clamp', which need bins; declare bins, or leave them out")
        if self.optional and labels[-1:] != (NO_ANSWER,):
            labels = (*labels, NO_ANSWER)
        force_setattr(self, "labels", labels)
        if self.answers < 2 or self.size > MAX_LABELS:
            beside = f" beside '{NO_ANSWER}'" if self.optional else ""
            raise SchemaError(f"{where} needs 2 to {MAX_LABELS:,} answers{beside}, it declares {self.answers}")
        if len(set(self.labels)) < len(self.labels):
            raise SchemaError(f"{where} declares the same answer twice; every answer must be different")

    def _check_merged(self, where: str) -> None:
        merged = tuple(tuple(_checked(label, f"an answer to {where}") for label in own) for own in self.merged)
        answers = [label for own in merged for label in own]
        if not all(merged) or len(set(answers)) < len(answers):
            raise SchemaError(f"{where} must have answers in each class of 'merged', every answer in one class")
        if merged and self.bins is not None:
            raise SchemaError(f"{where} has bins and 'merged'; declare wider bins instead")
        force_setattr(self, "merged", merged)

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def answers(self) -> int:
        """How many labels there are, "no answer" of an optional attribute not counted."""
        return self.size - self.optional

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers that people choose from, "no answer" aside: the labels, or what they stand for."""
        return tuple(chain(*self.merged)) or self.labels[: self.answers]

    @cached_property
    def numbers(self) -> Bins | None:
        """The bins of a numeric attribute."""
        if self.bins is None:
            return None
        where, most = f"question '{self.name}'", MAX_LABELS - self.optional
        return Bins.of(where, self.bins, most, decimals=self.decimals, clamp=self.clamp)

    @cached_property
    def code_of(self) -> Mapping[Any, int]:
        """The code of an answer, or of a number where there are bins; blank and None too if it is optional."""
        return _CodeOf(self)


class _CodeOf(dict[Any, int]):
    """The codes of an attribute's answers as they are usually typed; others are looked into when they are met."""

    def __init__(self, attribute: Attribute) -> None:
        classes = () if attribute.numbers else attribute.merged or tuple((label,) for label in attribute.labels)
        super().__init__((label, code) for code, own in enumerate(classes) for label in own)
        if attribute.optional:
            self.update(dict.fromkeys((NO_ANSWER, "", None), attribute.size - 1))
        self.attribute = attribute

    def __missing__(self, answer: Any) -> int:
        name, blank = self.attribute.name, answer is None or (isinstance(answer, str) and not answer.strip())
        if blank and self.attribute.optional:
            return self.attribute.size - 1
        if blank:
            raise RecordError(
                f"question '{name}' is blank, and may not be skipped unless the schema says optional = true"
            )
        if self.attribute.numbers is not None:
            return self.attribute.numbers.code(answer)
        code = self.get(wire.normal(answer)) if isinstance(answer, str) else None
        if code is None:
            raise RecordError(f"question '{name}' has an answer that is none of its {listed(self.attribute.choices)}")
        return code


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The attributes of a survey, in order, and which of their labels go together."""

    attributes: tuple[Attribute, ...]
    alignments: tuple[Alignment, ...] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "attributes", tuple(self.attributes))
        force_setattr(self, "alignments", tuple(self.alignments))
        if not self.attributes:
            raise SchemaError("the schema asks nothing; it needs at least one question")
        if len(set(names := self.names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SchemaError(f"question '{twice}' is declared twice; every name must be different")
        check_alignments(self.alignments, {own.name: own.labels[: own.answers] for own in self.attributes})

    @classmethod
    def of(cls, attributes: Mapping[str, Iterable[str]]) -> "Schema":
        """A schema from a mapping of attribute names to their labels."""
        return cls(tuple(Attribute(name, cast("Any", labels)) for name, labels in attributes.items()))

    @classmethod
    def from_frame(cls, frame: Any, categories: Mapping[str, Any] | None = None) -> "Schema":
        """A schema of a frame's columns, each of which declares its categories: as a Polars or DuckDB Enum, or by a
        dtype in `categories`, as for pandas.
        """
        return cls.of(declared_labels(frame, categories or {}))

    @classmethod
    def from_toml(cls, text: str | bytes) -> "Schema":
        """A schema from TOML: an `[[attributes]]` table with `name` and `labels`, or `bins`, for each attribute."""
        return cls._from(wire.refusing(lambda: tomllib.loads(wire.as_text(text)), dict, SchemaError, "the schema"))

    @classmethod
    def from_json(cls, text: str | bytes) -> "Schema":
        """A schema from JSON: `{"attributes": [{"name": …, "labels": […]}, …]}`."""
        return cls._from(wire.decode_object(text, SchemaError, "the schema"))

    @classmethod
    def _from(cls, value: dict[str, Any]) -> "Schema":
        return wire.refusing(lambda: msgspec.convert(value, cls, strict=True), cls, SchemaError, "the schema")

    def codes_of(self, answers: Sequence[Any]) -> list[int]:
        """The raw codes of answers in the attributes' order; what does not fit is named and never quoted."""
        try:
            return [attribute.code_of[answer] for attribute, answer in zip(self.attributes, answers, strict=True)]
        except TypeError:
            raise RecordError("an answer is neither a text nor a number; give it as one of these") from None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(attribute.size for attribute in self.attributes)


@dataclass(frozen=True, repr=False)
class Record:
    """One participant's raw codes. It exists on the participant's side only and never prints itself."""

    codes: tuple[int, ...]

    def __repr__(self) -> str:
        return "Record(<raw answers, not shown>)"

    def check(self, schema: Schema) -> None:
        """Refuse codes that the schema does not have."""
        if len(self.codes) != len(schema.attributes):
            raise RecordError(f"a record must have {len(schema.attributes)} codes, one for each question")
        for attribute, code in zip(schema.attributes, self.codes, strict=True):
            if type(code) is not int or not 0 <= code < attribute.size:
                raise RecordError(f"question '{attribute.name}' needs an integer code from 0 to {attribute.size - 1}")


@dataclass(frozen=True, repr=False, eq=False)
class Records:
    """Many participants' raw codes as an array (person, attribute), checked against a schema."""

    schema: Schema
    codes: Codes

    def __post_init__(self) -> None:
        codes, sizes = self.codes, self.schema.sizes
        if not np.issubdtype(codes.dtype, np.integer) or codes.ndim != 2 or codes.shape[1] != len(sizes):
            raise RecordError(
                f"records must be an integer array of shape (people, {len(sizes)}), got {codes.dtype} {codes.shape}"
            )
        for attribute, column in zip(self.schema.attributes, codes.T, strict=True):
            if len(column) and (column.max() >= attribute.size or column.min() < 0):
                raise RecordError(f"question '{attribute.name}' has a code outside 0 to {attribute.size - 1}")

    def __len__(self) -> int:
        return len(self.codes)

    def frequencies(self) -> dict[str, list[float]]:
        """The true frequency of every label: for simulated people and public data, where one may know it."""
        return {
            attribute.name: (np.bincount(column, minlength=attribute.size) / len(self)).tolist()
            for attribute, column in zip(self.schema.attributes, self.codes.T, strict=True)
        }

    def __repr__(self) -> str:
        return f"Records(<{len(self)} people's raw answers, not shown>)"


def code_type(sizes: Iterable[int]) -> np.dtype[Any]:
    """The smallest unsigned integer type that holds every code of the given domain sizes."""
    return np.min_scalar_type(max(sizes) - 1)


def _checked(text: str, what: str) -> str:
    """A name or label in form NFC, refused if a reader could not see all of it."""
    if not isinstance(text, str) or not text.strip():
        raise SchemaError(f"{what} must be a text that is not empty or blank")
    if not wire.is_printable(text):
        raise SchemaError(
            f"{what} holds an invisible character, a control character or half of a surrogate pair; type it anew"
        )
    return wire.normal(text)
