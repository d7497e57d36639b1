"""How long the simulator thinks: the user says so in the prompt; whoever serves the answer waits."""

import re

THINK = re.compile(r"\bthink for (\d+(?:\.\d+)?) seconds?\b", re.IGNORECASE)

MAX_SECONDS = 60.0


def seconds_to_think(words: str) -> float:
    """The time that `Think for N seconds` asks for, at most a minute; 0 where nothing is asked."""
    match = THINK.search(words)
    return min(float(match[1]), MAX_SECONDS) if match else 0.0
