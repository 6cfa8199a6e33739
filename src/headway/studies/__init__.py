"""Mass studies: workflows through simulated queues, under many plans, from many starts, on all cores."""
