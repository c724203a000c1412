"""Plan, report, counts, estimate, campaign: values with one strict JSON form each."""
