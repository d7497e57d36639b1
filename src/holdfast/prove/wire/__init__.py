"""How the proof talks A2A: raw JSON over HTTP, so that nothing is smoothed over on the way."""
