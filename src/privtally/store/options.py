"""What an operator decides about a campaign beside its first plan."""

from typing import Literal

import msgspec

from privtally.documents.learned import check_people, check_pivots
from privtally.errors import CampaignError
from privtally.exact import wire
from privtally.names import Rule

MOST_ABOUT = 1_000


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an operator decides beside the first plan."""

    rule: Rule = "robust"
    people: int | None = None
    published: bool = False
    """Whether anybody may see the estimates."""
    tokens: bool = False
    """Whether a report needs a participation token."""
    phase1_share: float = 0.1
    """Where the campaign learns, the share of tokens that are for the first phase of a round."""
    groups: tuple[tuple[str, ...], ...] | Literal["auto"] | None = None
    """The groups of later phases by the names of their attributes, or chosen; the first plan's if none are given."""
    pivots: int = 1
    """How many questions of a group a report of a later phase answers."""
    about: str = ""
    """Who asks, and why: what participants read below the title."""

    def __post_init__(self) -> None:
        if not 0 < self.phase1_share < 1:
            raise CampaignError("phase1_share must be between 0 and 1")
        if self.people is not None:
            check_people(self.people)
        check_pivots(self.pivots)
        if len(self.about) > MOST_ABOUT or not wire.is_printable(self.about):
            raise CampaignError(f"'about' must be printable text of at most {MOST_ABOUT:,} characters")
