"""For experiments: simulated people and repeatable randomness. Nothing here touches anybody's answers."""
