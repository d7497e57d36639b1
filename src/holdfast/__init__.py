"""Agent sessions that survive, and the proof that they do."""

__version__ = "0.1.0"
