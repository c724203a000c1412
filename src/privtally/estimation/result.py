"""Estimate: frequencies with their standard errors, and where they came from."""

import csv
import io
import math
from typing import Any

import msgspec

from privtally import wire
from privtally.errors import EstimateError
from privtally.names import Method


class AttributeEstimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attribute: for each label its frequency and the standard error of that."""

    labels: tuple[str, ...]
    frequencies: tuple[float, ...]
    standard_errors: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.labels) == len(self.frequencies) == len(self.standard_errors):
            raise EstimateError("labels, frequencies and standard errors must have the same length")
        if abs(math.fsum(self.frequencies) - 1) > 1e-6 or min(self.standard_errors) < 0:
            raise EstimateError("frequencies must sum to 1 and standard errors must not be negative")


class PhaseUsed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one phase put into an estimate."""

    phase: int
    mechanism: str
    epsilon: float
    reports: int
    plan: str
    counts: str


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an estimate came from."""

    campaign: str
    phases: tuple[PhaseUsed, ...]
    software: str


class Estimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="privtally.estimate/1"):
    """Frequencies of every attribute. The standard errors measure spread; where `biased`, an offset comes on top."""

    attributes: dict[str, AttributeEstimate]
    method: Method
    biased: bool
    notes: tuple[str, ...]
    provenance: Provenance

    def body(self) -> dict[str, Any]:
        """The estimate as plain values."""
        body: dict[str, Any] = msgspec.to_builtins(self)
        return body

    def dump(self) -> bytes:
        """The estimate as a document, laid out for reading."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def to_csv(self) -> bytes:
        """The estimate as CSV: one line for each label."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["attribute", "label", "frequency", "standard_error"])
        for name, attribute in self.attributes.items():
            rows = zip(attribute.labels, attribute.frequencies, attribute.standard_errors, strict=True)
            writer.writerows([name, *row] for row in rows)
        return text.getvalue().encode()


def load_estimate(data: bytes | str) -> Estimate:
    """An estimate from its document."""
    return wire.decode(data, Estimate, EstimateError, "the estimate")
