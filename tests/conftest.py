"""Hypothesis without deadlines or surprises: the same examples on every run."""

from hypothesis import settings

settings.register_profile("privtally", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("privtally")
