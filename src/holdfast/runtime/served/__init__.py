"""Turns that come over A2A: what is kept of each, in the gateway's store or in files as well."""
