"""Gateways that are broken on purpose: a real one behind a small proxy with one defect.

The proof must find each, at the step that should see it and at no other. They are controls, not part of any service.
"""
