"""Whom a gateway lets in: callers and their scopes, tokens, hosts and origins, and the audit log of what admins do."""
