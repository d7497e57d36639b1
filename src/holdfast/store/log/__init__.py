"""The log of a session: how events come in, what they mean for the rows beside them, how they are read and verified."""
