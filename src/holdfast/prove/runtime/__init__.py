"""The proof of an agent runtime: it is talked to, killed, restarted and judged."""
