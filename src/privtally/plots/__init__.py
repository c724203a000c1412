"""Pictures. They need the extra `plot`, and import matplotlib only when they draw."""
