"""The collector as an HTTP service over a store."""
