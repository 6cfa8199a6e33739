"""004 run again: feedback-based resource allocation, its orders and predictors, and ours."""
