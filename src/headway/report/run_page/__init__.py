"""The report of a run: one HTML page whose script draws what the journal says."""
