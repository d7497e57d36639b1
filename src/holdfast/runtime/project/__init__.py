"""An agent in a project's folder: what runs the turn loop over a conversation that is kept.

`agent` is what callers use; `turn_log` is one turn of it; the other modules are what a turn needs.
"""
