"""What a plan gives away, exactly."""
