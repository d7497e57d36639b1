"""A run of proofs on a target: the order, the restarts, the findings, and runs that are repeated or taken up again."""
