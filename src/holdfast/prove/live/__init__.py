"""The proof of a running gateway: its database is where sessions live, and legacy files are input or archive only.

Parity with old files is no health signal once there is traffic. So behaviour is measured: rows that move, files that do
not, open handles, the log. Rows are read by the proof's own SQL, read-only and in its own process; everything else goes
through the public API. The proof works on sessions of its own, and takes them away again.
"""
