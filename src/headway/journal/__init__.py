"""The run's durable event log, and the folder that holds it."""
