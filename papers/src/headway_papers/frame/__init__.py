"""What all studies share: a runner with a ledger, sections, verdicts and charts, shown as text, HTML or docs tables."""
