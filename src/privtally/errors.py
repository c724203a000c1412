"""What can go wrong.

Each error carries one sentence: what is wrong, where, and what to do about it. All of them are `ValueError`s, so that
msgspec reports one raised while a document is decoded together with its place in the document.
"""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar, get_args

P = ParamSpec("P")
R = TypeVar("R")


class PrivtallyError(ValueError):
    """Any refusal by privtally."""


class SchemaError(PrivtallyError):
    """A schema does not say clearly what may be asked."""


class RecordError(PrivtallyError):
    """A participant's answers do not fit the schema; the message never quotes them."""


class SourceError(PrivtallyError):
    """A source of randomness must not be used here."""


class PlanError(PrivtallyError):
    """A plan cannot be built, or is not what its digest says."""


class ReportError(PrivtallyError):
    """A report is malformed or answers another plan."""


class CountsError(PrivtallyError):
    """Counts are inconsistent, or belong to another plan."""


class EstimateError(PrivtallyError):
    """The counts cannot be turned into frequencies."""


class FailedEstimateError(EstimateError):
    """The estimator has a defect, which the log names; everything else goes on."""


class LearningError(PrivtallyError):
    """The first phase cannot give the second one its parameters."""


class CampaignError(PrivtallyError):
    """A campaign is asked for a step it cannot take now."""


class UnknownCampaignError(CampaignError):
    """There is no such campaign."""


class LedgerError(PrivtallyError):
    """A participant's own limits forbid an answer."""


class SendingError(PrivtallyError):
    """A report could not be sent, or the collector refused it."""


class DocumentError(PrivtallyError):
    """A file is missing, unreadable or of another kind."""


class StoreError(PrivtallyError):
    """A database cannot be used, or holds something else."""


class EngineError(PrivtallyError):
    """What should compute over tables cannot be used: an extra or Java is missing, or a cluster does not answer."""


class RequestError(PrivtallyError):
    """A request to the service does not have the form that it must have."""


class ServiceError(PrivtallyError):
    """The service cannot start as asked."""


class UnavailableError(StoreError):
    """The database cannot take or give anything now; nothing was stored, and trying again later may help."""


def listed(labels: Sequence[str], most: int = 20) -> str:
    """Declared answers as a refusal lists them: how many, and so many of them at most."""
    some = ", ".join(f"'{label}'" for label in labels[:most])
    return f"{len(labels):,} declared answers: {some}{', …' if len(labels) > most else ''}"


def meant(word: str, known: Sequence[str], otherwise: str) -> str:
    """A question after the known name that begins with a word or is most like it; otherwise what else to do."""
    alike = [name for name in known if word and name.startswith(word)] or get_close_matches(word, known, n=1)
    return f"did you mean {alike[0]}?" if alike else otherwise


def naming_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """A public function that refuses a keyword which it does not have, as Python does, and says which one is meant.

    Keywords that it takes as a `TypedDict` (`**options: Unpack[Options]`) are known to it.
    """
    known: list[str] = []
    for parameter in signature(function).parameters.values():
        several = parameter.kind is Parameter.VAR_KEYWORD
        known += get_args(parameter.annotation)[0].__annotations__ if several else [parameter.name]

    @wraps(function)
    def checked(*arguments: P.args, **keywords: P.kwargs) -> R:
        for name in keywords:
            if name == "seed" and name not in known:
                raise TypeError(
                    f"{function.__name__} has no argument 'seed': no seed may decide a private draw; privtally.compare "
                    "and privtally.lab have simulations"
                )
            if name not in known:
                what = meant(name, known, f"it takes {', '.join(known)}")
                raise TypeError(f"{function.__name__} has no argument '{name}'; {what}")
        return function(*arguments, **keywords)

    return checked
