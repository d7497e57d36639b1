"""A state machine over the store's public writes, on both engines at once, with faults at every call of the engine.

`plan` draws steps and faults from a seed and nothing else. `calls` is what each step asks of a store. `faults` breaks
the engine where the plan says. `model` keeps what may be there: acknowledged is there once, refused is not there, and
an unknown outcome is one or the other until a keyed retry settles it. `driver` runs both engines and compares.
"""
