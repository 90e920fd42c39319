"""What surrounds the growth of a tree: tasks, failures, clock, journal, progress, forecast."""
