"""The session service: one module per group of routes."""
