"""What the operators of a gateway keep in the store: tokens, the audit log, duties."""
