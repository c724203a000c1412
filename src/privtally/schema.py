"""What may be asked: attributes with declared labels. Nothing here is ever read off the data."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import numpy as np
from msgspec.structs import force_setattr

from privtally.errors import RecordError, SchemaError, listed
from privtally.exact import canonical
from privtally.exact.canonical import normal
from privtally.exact.randomness import Source, rounded
from privtally.exact.types import Codes
from privtally.scales import Bins, Declared, DeclaredGrid, Grid, Place, Ranges

Labels = tuple[str, ...]

MOST_LISTED = 8
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
                    f"({listed(answers[name], MOST_LISTED)}); 'no answer' is never named"
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


def declared_labels(frame: Any, categories: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The labels of every column, by its type or by the dtype in `categories`, which has `.categories`."""
    import narwhals as nw

    try:
        found = nw.from_native(frame)
    except TypeError:
        raise SchemaError(f"a schema needs a frame of Polars, DuckDB or pandas, not {type(frame).__name__}") from None
    columns = found.collect_schema()
    unknown = [name for name in categories if name not in columns]
    if unknown:
        raise SchemaError(f"the frame has no column '{unknown[0]}' of which categories are given")
    labels: dict[str, tuple[Any, ...]] = {}
    for name, kind in columns.items():
        if name in categories:
            labels[name] = categories_of(categories[name]) or ()
            if not labels[name]:
                raise SchemaError(
                    f"column '{name}' needs a dtype that lists its categories, such as pandas.CategoricalDtype"
                )
        elif found.implementation.is_pandas_like():
            raise SchemaError(
                f"column '{name}': pandas does not say whether categories were declared or read off the data; name the "
                f"dtype: categories={{'{name}': dtype}}"
            )
        elif isinstance(kind, nw.Enum):
            labels[name] = tuple(kind.categories)
        else:
            what = "holds the categories that are in its data" if kind == nw.Categorical else "declares no categories"
            raise SchemaError(
                f"column '{name}' {what}; answers are never read off the data: make it an Enum, or leave it out"
            )
    return labels


def categories_of(dtype: Any) -> tuple[Any, ...] | None:
    """The categories that a dtype lists, such as pandas.CategoricalDtype or polars.Enum; None if it lists none."""
    stated = getattr(dtype, "categories", None)
    return None if stated is None else tuple(stated)


MAX_LABELS = 65_536
NO_ANSWER = "no answer"
"""The last label of an attribute that may be skipped."""
SEPARATOR = " | "
"""What stands between the answers in the label of a class."""
MOST_SHOWN = 20
"""So many questions, or answers to one, are shown where a schema prints itself."""
_WHOLE = re.compile("0|-?[1-9][0-9]*")
_SCALE = re.compile("0|-?[1-9][0-9]{0,14}")
"""Labels that have a mean if they are in order."""
_SPELLED = {word: (word, word.title(), word.upper()) for word in ("true", "false")}
"""How truth values are spelled by one program and another."""

Label = str | int | bool
"""What a label may be declared as; its text is the label."""


def label_text(value: Any) -> Any:
    """The text of a whole number or a truth value, as a label has it; anything else as it is."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real) and float(value).is_integer():
        return str(int(float(value)))
    return value


class Attribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, dict=True):
    """One question and the answers it allows, in the order that gives them their codes 0, 1, 2 …

    Name and labels are kept in Unicode's form NFC, so that the same text is the same label however it was typed. Labels
    of a numeric attribute follow from its bins or grid; an optional attribute has "no answer" as its last label.
    """

    name: str
    labels: tuple[str, ...] = ()
    optional: bool = False
    ordered: bool = False
    bins: Declared | None = None
    grid: DeclaredGrid | None = None
    """Points to which a number is rounded at random before the point is changed at random as any label is."""
    decimals: bool = False
    """Whether numbers may have decimals; of use with bins or a grid only, and so is `clamp`."""
    clamp: bool = False
    """Whether a number out of range counts as the end of the range, instead of being refused."""
    merged: tuple[tuple[str, ...], ...] = ()
    """The answers that each label stands for, where labels are classes of answers."""

    def __post_init__(self) -> None:
        force_setattr(self, "name", _checked(self.name, "a question's name"))
        where = f"question '{self.name}'"
        if isinstance(self.labels, str) or not isinstance(self.labels, Iterable):
            raise SchemaError(f"{where} needs a list of answers, not one text or number; put it into a list")
        labels = tuple(_checked(label_text(label), f"an answer to {where}") for label in self.labels)
        self._check_merged(where)
        derived = tuple(map(SEPARATOR.join, self.merged)) if self.numbers is None else self.numbers.labels
        if derived:
            if labels not in ((), derived, (*derived, NO_ANSWER) if self.optional else derived):
                raise SchemaError(
                    f"the answers to {where} do not follow from its bins, grid or classes; declare one of these"
                )
            labels = derived
        if self.numbers is not None:
            force_setattr(self, "bins" if self.grid is None else "grid", self.numbers.edges)
            force_setattr(self, "ordered", bool(derived))
        elif self.decimals or self.clamp:
            raise SchemaError(
                f"{where} has 'decimals' or 'clamp', which need bins or a grid; declare one, or leave them out"
            )
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
        if self.bins is not None and self.grid is not None:
            raise SchemaError(f"{where} has bins and a grid; declare one of them")
        if merged and self.numbers is not None:
            raise SchemaError(f"{where} has bins or a grid, and 'merged'; declare wider bins or fewer points instead")
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
    def numbers(self) -> Bins | Grid | None:
        """The bins or the grid of a numeric attribute."""
        where, most = f"question '{self.name}'", MAX_LABELS - self.optional
        if self.grid is not None:
            return Grid.of(where, self.grid, most, decimals=self.decimals, clamp=self.clamp)
        if self.bins is not None:
            return Bins.of(where, self.bins, most, decimals=self.decimals, clamp=self.clamp)
        return None

    @cached_property
    def ranges(self) -> Ranges | None:
        """The numbers that labels stand for: of bins, of a grid, or whole numbers that are declared in order."""
        if self.numbers is not None:
            return self.numbers.ranges
        labels = self.labels[: self.answers]
        if not self.ordered or not all(map(_SCALE.fullmatch, labels)):
            return None
        scale = tuple(map(int, labels))
        return Ranges(scale, scale, scale, scale) if scale == tuple(sorted(scale)) else None

    @cached_property
    def place_of(self) -> Mapping[Any, Place]:
        """The code of an answer, or its place among those of a grid; blank and None have one too if it is optional."""
        return _PlaceOf(self)


class _PlaceOf(dict[Any, Place]):
    """The codes of an attribute's answers as they are usually typed; others are looked into when they are met."""

    def __init__(self, attribute: Attribute) -> None:
        classes = () if attribute.numbers else attribute.merged or tuple((label,) for label in attribute.labels)
        super().__init__((label, code) for code, own in enumerate(classes) for label in own)
        for label, code in list(self.items()):
            for spelled in _SPELLED.get(label.lower(), ()) or ((f"{label}.0",) if _WHOLE.fullmatch(label) else ()):
                self.setdefault(spelled, code)
        if attribute.optional:
            self.update(dict.fromkeys((NO_ANSWER, "", None), attribute.size - 1))
        self.attribute = attribute

    def __missing__(self, answer: Any) -> Place:
        name, blank = self.attribute.name, answer is None or (isinstance(answer, str) and not answer.strip())
        if blank and self.attribute.optional:
            return self.attribute.size - 1
        if blank:
            raise RecordError(
                f"question '{name}' is blank, and may not be skipped unless the schema says optional = true"
            )
        if self.attribute.numbers is not None:
            return self.attribute.numbers.place(answer)
        text = label_text(answer)
        code = self.get(canonical.normal(text)) if isinstance(text, str) else None
        if code is None:
            raise RecordError(f"question '{name}' has an answer that is none of its {listed(self.attribute.choices)}")
        return code


Declaration = Attribute | Iterable[Label] | Mapping[str, Any]
"""One question: an attribute, its labels, or the fields of an attribute; a dtype that lists categories, too."""
Attributes = Mapping[str, Declaration | Any] | Iterable[Attribute | Mapping[str, Any]]
"""Questions by name, or attributes in order."""


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The attributes of a survey, in order, and which of their labels go together.

    Attributes are given by name, each as its labels (texts, whole numbers or truth values), as an `Attribute` or as the
    fields of one; or they are a list of attributes.
    """

    attributes: tuple[Attribute, ...]
    alignments: tuple[Alignment, ...] = ()

    if TYPE_CHECKING:

        def __init__(self, attributes: Attributes, alignments: Iterable[Alignment] = ()) -> None: ...

    def __post_init__(self) -> None:
        force_setattr(self, "attributes", _declared(self.attributes))
        force_setattr(self, "alignments", tuple(self.alignments))
        if not self.attributes:
            raise SchemaError("the schema asks nothing; it needs at least one question")
        if len(set(names := self.names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SchemaError(f"question '{twice}' is declared twice; every name must be different")
        check_alignments(self.alignments, {own.name: own.labels[: own.answers] for own in self.attributes})

    @classmethod
    def of(cls, attributes: Attributes) -> "Schema":
        """A schema from a mapping of attribute names to their labels."""
        return cls(attributes)

    @classmethod
    def read(cls, path: Any) -> "Schema":
        """A schema from a .toml or .json file."""
        from privtally.files import read_schema

        return read_schema(path)

    @classmethod
    def from_csv(cls, _path: Any) -> NoReturn:
        """Refused: a file of answers declares none."""
        raise SchemaError(
            "a CSV file holds answers, and which ones are possible is never read off the data; Schema.read takes the "
            ".toml or .json file that declares them, and privtally init --from-csv helps to write it"
        )

    @classmethod
    def from_frame(cls, frame: Any, categories: Mapping[str, Any] | None = None) -> "Schema":
        """A schema of a frame's columns, each of which declares its categories: as a Polars or DuckDB Enum, or by a
        dtype in `categories`, as for pandas.
        """
        return cls.of(declared_labels(frame, categories or {}))

    @classmethod
    def from_toml(cls, text: str | bytes) -> "Schema":
        """A schema from TOML: an `[[attributes]]` table for each, with `name` and `labels`, `bins` or `grid`."""
        return cls._from(
            canonical.refusing(lambda: tomllib.loads(canonical.as_text(text)), dict, SchemaError, "the schema")
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> "Schema":
        """A schema from JSON: `{"attributes": [{"name": …, "labels": […]}, …]}`."""
        return cls._from(canonical.decode_object(text, SchemaError, "the schema"))

    @classmethod
    def _from(cls, value: dict[str, Any]) -> "Schema":
        stated = value.get("attributes")
        if isinstance(stated, list):
            value = {**value, "attributes": [_with_texts(own) for own in stated]}
        return canonical.refusing(lambda: msgspec.convert(value, cls, strict=True), cls, SchemaError, "the schema")

    def codes_of(self, answers: Sequence[Any], source: Source) -> list[int]:
        """The raw codes of answers in the attributes' order, numbers of a grid rounded at random; what does not fit is
        named and never quoted.
        """
        try:
            places = [attribute.place_of[answer] for attribute, answer in zip(self.attributes, answers, strict=True)]
        except TypeError:
            raise RecordError("an answer is neither a text nor a number; give it as one of these") from None
        return [place if isinstance(place, int) else rounded([place], source)[0] for place in places]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(attribute.size for attribute in self.attributes)

    def __repr__(self) -> str:
        many = len(self.attributes)
        lines = [f"Schema of {many:,} {'question' if many == 1 else 'questions'}"]
        lines += [f"  {own.name}: {_shown(own.labels)}" for own in self.attributes[:MOST_SHOWN]]
        lines += [f"  and {many - MOST_SHOWN:,} more"] if many > MOST_SHOWN else []
        return "\n".join(lines)


def _shown(labels: Sequence[str]) -> str:
    more = f", … ({len(labels):,} answers)" if len(labels) > MOST_SHOWN else ""
    return ", ".join(labels[:MOST_SHOWN]) + more


def _declared(given: Any) -> tuple[Attribute, ...]:
    """The attributes that a schema was given, by name or in order."""
    if isinstance(given, Mapping):
        return tuple(_attribute(name, own) for name, own in given.items())
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SchemaError(_HOW_TO_DECLARE.format(name="smokes"))
    stated = tuple(given)
    if all(type(own) is Attribute for own in stated):
        return stated
    names = [own for own in stated if isinstance(own, str)]
    if names or not all(isinstance(own, Attribute | Mapping) for own in stated):
        raise SchemaError(_HOW_TO_DECLARE.format(name=names[0] if names else "smokes"))
    return tuple(own if isinstance(own, Attribute) else _from_fields(own) for own in stated)


_HOW_TO_DECLARE = (
    'which answers are possible must be declared, as in {{"{name}": ["no", "yes"]}}; they are never read off the data'
)


def _attribute(name: Any, declared: Any) -> Attribute:
    """A question that a mapping declares under its name."""
    if isinstance(declared, Attribute):
        if declared.name != canonical.normal(str(name)):
            raise SchemaError(f"question '{name}' is declared as '{declared.name}'; give it one name")
        return declared
    if isinstance(declared, Mapping):
        return _from_fields({"name": name, **declared})
    return Attribute(name, categories_of(declared) or declared)


def _from_fields(fields: Mapping[str, Any]) -> Attribute:
    what = f"question '{fields.get('name', '')}'"
    made = _with_texts(dict(fields))
    return canonical.refusing(lambda: msgspec.convert(made, Attribute, strict=True), Attribute, SchemaError, what)


def _with_texts(fields: Any) -> Any:
    """The fields of an attribute with labels as texts, which files and people also state as numbers."""
    labels = fields.get("labels") if isinstance(fields, dict) else None
    if labels is None or isinstance(labels, str) or not isinstance(labels, Iterable):
        return fields
    return {**fields, "labels": [label_text(label) for label in labels]}


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
    if not canonical.is_printable(text):
        raise SchemaError(
            f"{what} holds an invisible character, a control character or half of a surrogate pair; type it anew"
        )
    return canonical.normal(text)
