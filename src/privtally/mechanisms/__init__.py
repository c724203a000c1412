"""The ways a record becomes private codes."""

from privtally.mechanisms.base import Law, Mechanism, operator_matrix
from privtally.mechanisms.pivot import Pivot, copy_fills, prior_fills, table_fills, uniform_fills
from privtally.mechanisms.sample import Sample
from privtally.mechanisms.split import Split

__all__ = [
    "Law",
    "Mechanism",
    "Pivot",
    "Sample",
    "Split",
    "copy_fills",
    "operator_matrix",
    "prior_fills",
    "table_fills",
    "uniform_fills",
]
