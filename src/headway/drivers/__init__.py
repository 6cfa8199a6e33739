"""Who carries records between engine, journal and clusters."""
