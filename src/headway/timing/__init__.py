"""WHEN? `planning.PLANS` says which plan has which."""
