"""What the A2A server and the gateway share of HTTP: which hosts may ask, streams of events, answers."""
