"""What an observer knows who guesses which attributes a report was asked for."""

from collections.abc import Sequence

import msgspec

from privtally.errors import PlanError
from privtally.mechanisms.filling import conditional
from privtally.mechanisms.fills import Row


class KnowsTotals(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="knows-totals"):
    """An observer who knows how frequent every answer is: each attribute's totals, in multiples of 2^-32."""

    totals: tuple[Row, ...]

    def check(self, sizes: Sequence[int]) -> None:
        """Refuse totals that do not fit attributes with these numbers of labels."""
        if [len(row) for row in self.totals] != list(sizes):
            raise PlanError("what an observer knows must be one frequency for each label of each attribute")
        for row in self.totals:
            conditional([row])
