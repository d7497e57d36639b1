"""How a gateway keeps its connections: the socket, the protocols with a guard around each, limits and rates."""
