"""Attachments: bytes kept once, and taken away when nobody needs them."""
