"""Files of lines that other programs write: read safely, as far as they go, every line as an event."""
