"""Memories: facts that outlive sessions."""
