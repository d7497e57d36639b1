"""What a session is to the programs that use it: its row, state, goals, sub-agents, checkpoints, effects and keys."""
