"""The version of this software."""

__version__ = "0.1.0"
SOFTWARE = f"privtally {__version__}"
