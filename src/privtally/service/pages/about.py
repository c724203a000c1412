"""What an operator says about a survey in words of their own, kept among the store's settings."""

from privtally.errors import CampaignError
from privtally.exact import wire
from privtally.store.session import Session
from privtally.store.surveys import change_setting, setting

MOST_WORDS = 1_000


async def read_about(session: Session, campaign: str) -> str:
    """What participants read below the title; empty if nothing was written."""
    return await setting(session, f"about.{campaign}") or ""


async def write_about(session: Session, campaign: str, about: str) -> None:
    """Keep what participants read below the title."""
    await change_setting(session, f"about.{campaign}", about)


def check_about(about: str) -> None:
    """Refuse a text that is too long or that a reader could not see all of."""
    if len(about) > MOST_WORDS or (about and not wire.is_printable(about)):
        raise CampaignError(
            f"what you say about the survey must be printable text of at most {MOST_WORDS:,} characters"
        )


async def forget_about(session: Session, campaign: str) -> None:
    """Remove it together with its campaign."""
    await session.fetch("DELETE FROM settings WHERE name = $1", f"about.{campaign}")
