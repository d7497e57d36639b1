"""Markdown on a terminal: parsed by markdown-it, drawn by us.

What it draws is untrusted. Nothing in it drives the terminal, no line is wider than the room, and without styles its
marks stay as they were written.
"""

from holdfast.chat.markdown.document import Block, blocks_of, draw

__all__ = ["Block", "blocks_of", "draw"]
