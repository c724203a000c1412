"""How a record becomes private codes: one mechanism of parts and branches, and the named ones as data."""

from privtally.mechanisms.mechanism import Joint, Law, Mechanism, Part, independent, within
from privtally.mechanisms.named import NAMED, PartPlan, build

__all__ = ["NAMED", "Joint", "Law", "Mechanism", "Part", "PartPlan", "build", "independent", "within"]
