"""How a record becomes private codes: one mechanism of parts and branches, and the named ones as data."""

from privtally.mechanisms.mechanism import Law, Mechanism, within
from privtally.mechanisms.named import NAMED, PartPlan, build
from privtally.mechanisms.part import Joint, Part, independent

__all__ = ["NAMED", "Joint", "Law", "Mechanism", "Part", "PartPlan", "build", "independent", "within"]
