"""WHEN? One file a timing; `planning.PLANS` says which plan has which."""
