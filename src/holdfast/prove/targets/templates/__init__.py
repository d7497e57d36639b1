"""Templates: agent runtimes that come with Holdfast, each in a venv of its own and with no network but loopback.

`folder` finds one and says what it is made of, `target` starts it, `enclosure` takes the network away from it.
"""
