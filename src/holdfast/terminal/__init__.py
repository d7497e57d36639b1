"""What commands and proofs show on a terminal: text that cannot drive it, styles, tables, a line of progress.

Standard library only. Everything that writes for people goes through here, so that one rule says what is harmless, and
one what is coloured: a terminal that is not dumb, and never against `NO_COLOR`; with `FORCE_COLOR` the proof's tables
also where there is no terminal.
"""
