"""The collector's side: pure functions of documents."""
