"""The participant's side, and the only room that sees a Record."""
