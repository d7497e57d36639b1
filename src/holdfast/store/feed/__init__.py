"""Live feeds: what has come since, for one session or the whole store."""
