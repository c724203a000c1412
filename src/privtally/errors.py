"""What can go wrong, as a tree.

    PrivtallyError
    ├── SchemaError       a schema does not say clearly what may be asked
    ├── RecordError       a participant's answers do not fit the schema (never quotes them)
    ├── PlanError         a plan cannot be built, or is not what its digest says
    ├── ReportError       a report is malformed or answers another plan
    ├── CountsError       counts are inconsistent, or belong to another plan
    ├── EstimateError     the counts cannot be turned into frequencies
    ├── LearningError     Phase I cannot give Phase II its parameters
    ├── CampaignError     a campaign is asked for a step it cannot take now
    ├── LedgerError       a participant's own limits forbid an answer
    └── DocumentError     a file is missing, unreadable or of another kind

Each carries one sentence: what is wrong, where, and what to do about it. All of them are `ValueError`s, so that
msgspec reports one raised while a document is decoded together with its place in the document.
"""


class PrivtallyError(ValueError):
    """Any refusal by privtally."""


class SchemaError(PrivtallyError):
    """A schema does not say clearly what may be asked."""


class RecordError(PrivtallyError):
    """A participant's answers do not fit the schema; the message never quotes them."""


class PlanError(PrivtallyError):
    """A plan cannot be built, or is not what its digest says."""


class ReportError(PrivtallyError):
    """A report is malformed or answers another plan."""


class CountsError(PrivtallyError):
    """Counts are inconsistent, or belong to another plan."""


class EstimateError(PrivtallyError):
    """The counts cannot be turned into frequencies."""


class LearningError(PrivtallyError):
    """Phase I cannot give Phase II its parameters."""


class CampaignError(PrivtallyError):
    """A campaign is asked for a step it cannot take now."""


class LedgerError(PrivtallyError):
    """A participant's own limits forbid an answer."""


class DocumentError(PrivtallyError):
    """A file is missing, unreadable or of another kind."""
