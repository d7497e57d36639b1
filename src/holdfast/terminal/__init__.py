"""What commands and proofs show on a terminal: text that cannot drive it, styles, tables, a line of progress.

Standard library only. Everything that writes for people goes through here, so that one rule says what is harmless, and
one what is coloured: a terminal that is not dumb, or `FORCE_COLOR`, and never against `NO_COLOR`.
"""
