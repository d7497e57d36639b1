"""Tasks and what turns need around them: leases, texts, the outbox, and the servers that run them."""
