"""Gateways that lie, each a module to run like `holdfast`: a check of gateways must catch every one of them."""
