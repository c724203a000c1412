"""learn: a campaign's history -> the plan of its next phase."""
