"""How sessions come from others, and how they go: forks, arrivals, deletion, archives, erasure, retention."""
