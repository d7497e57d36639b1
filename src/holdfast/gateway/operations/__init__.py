"""How a gateway is run: its log, metrics and readiness, and what it does by itself now and then."""
