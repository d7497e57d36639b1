"""Runtimes that are broken on purpose, and an honest one to compare: a proof that cannot fail proves nothing.

Each is the same small A2A server over a `Runtime`; a kind overrides what it gets wrong (see `kinds`).
Which proofs must disprove which kind is written down in `expected`. Run one with
`python -m holdfast.prove.broken KIND --port N --data DIR`.
"""
