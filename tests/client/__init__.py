"""The browser client: held to the Python library by shared vectors, run in Node."""
