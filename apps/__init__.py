"""Three real programs that report to a session service. They run from a checkout, each in a venv of its own."""
