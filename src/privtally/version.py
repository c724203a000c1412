"""The version of this software."""

__version__ = "1.0.0"
SOFTWARE = f"privtally {__version__}"
