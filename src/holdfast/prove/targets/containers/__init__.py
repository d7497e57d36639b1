"""An image under proof: two containers on a network without a way out, the runtime and the sender of the envelopes.

compose.yml names the two. In the sender runs the model simulator, which the runtime takes for its model, and `relay`,
which carries what we send to the runtime and what it answers back, over the standard streams of a command in the
sender. So nothing is published, and it works as well where the engine is on another machine, or beside us in a
container of its own. `target` starts, stops, kills and pauses the runtime; its data stays until the run is over.
"""
