"""Turns: how a message becomes a task, how its turn runs, and who is told."""
