"""Speed and accuracy, measured side by side in one run. Run one as `python -m benchmarks.NAME`."""
