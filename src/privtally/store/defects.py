"""Defects in the log: their kind and where they happened, never their message, which may quote what somebody sent."""

import logging
import traceback

_LOG = logging.getLogger("privtally")


def log_defect(fault: BaseException) -> None:
    """Log an error that nobody expected."""
    places = "".join(traceback.format_tb(fault.__traceback__))
    _LOG.error("defect", extra={"kind": type(fault).__name__, "places": places})
