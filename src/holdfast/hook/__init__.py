"""`holdfast hook`: what programs report by running a command with JSON on stdin, Claude Code's hooks among them.

Such a command must be over in milliseconds and must never be in the way. So it only keeps a record in the inbox
(`inbox`), on this disk, and sees that a courier runs (`courier`), a process of its own that makes entries of the
records (`entries`) and delivers them as every hook agent does, in order, each once. Nothing here is imported that takes
long: `command`, `inbox`, `payload` and `journal` need the standard library and the spool's files.
"""
