"""Studies: many workflows through simulated queues, under many plans and from many starts, on all cores."""
