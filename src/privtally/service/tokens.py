"""Tokens: the administrator's, and those that let somebody take part once.

All of them are random and long, so that a plain SHA-256 hides them; a store never holds anything else of them.
"""

import hashlib
import hmac
import secrets
from functools import partial

from privtally.documents.plan import Plan
from privtally.errors import CampaignError
from privtally.mechanisms import NAMED
from privtally.store import surveys
from privtally.store.session import Store
from privtally.store.surveys import Survey

MOST_TOKENS = 1_000_000
ADMIN = "admin_token"
"""The setting that holds the hash of the administrator's token."""
_BYTES = 16


async def new_admin_token(store: Store) -> str:
    """A new administrator's token, to be shown once; the one before is worth nothing from now on."""
    token = secrets.token_urlsafe(32)
    await store.write(partial(surveys.change_setting, name=ADMIN, value=hashed(token).hex()))
    return token


async def first_admin_token(store: Store) -> str | None:
    """The administrator's token if the store has none yet."""
    token = secrets.token_urlsafe(32)
    is_new = await store.write(partial(surveys.first_setting, name=ADMIN, value=hashed(token).hex()))
    return token if is_new else None


async def is_admin(store: Store, token: str) -> bool:
    """Whether this is the administrator's token."""
    expected = await store.read(partial(surveys.setting, name=ADMIN))
    return expected is not None and hmac.compare_digest(hashed(token).hex(), expected)


async def issue(store: Store, campaign: str, number: int) -> list[str]:
    """New participation tokens for a campaign, in random order of their phases."""
    if not 1 <= number <= MOST_TOKENS:
        raise CampaignError(f"the number of tokens must be between 1 and {MOST_TOKENS:,}")
    tokens = [secrets.token_hex(_BYTES) for _ in range(number)]
    await store.write(partial(surveys.add_tokens, campaign=campaign, hashes=map(hashed, tokens)))
    return tokens


def hashed(token: str) -> bytes:
    """What a store keeps of a token."""
    return hashlib.sha256(token.encode()).digest()


def is_early(survey: Survey, token: str) -> bool:
    """Whether a token is for the first phase of a round, and not for a later one.

    A hash under the campaign's id decides it and never the order of arrival, so that those who are early and those who
    are late are in all phases alike.
    """
    if not NAMED[survey.plans[0].mechanism].learns:
        return True
    drawn = hmac.digest(bytes.fromhex(survey.id), token.encode(), "sha256")
    return int.from_bytes(drawn[:8], "big") < survey.options.phase1_share * 2**64


def plan_of(survey: Survey, token: str) -> Plan | None:
    """The plan of the last round that a token is for; None if there is none yet."""
    this_round = [plan for plan in survey.plans if plan.round == survey.plans[-1].round]
    if is_early(survey, token):
        return this_round[0]
    return this_round[-1] if len(this_round) > 1 else None
