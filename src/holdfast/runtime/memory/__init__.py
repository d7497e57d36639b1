"""What an agent remembers beyond a conversation, for projects: in a file of theirs, or in their store."""
