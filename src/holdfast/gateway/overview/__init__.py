"""The state of a whole service at a glance: how it goes, what it costs, and what is wrong."""
