"""The work on a task: how a turn is routed, when it is done, and how that is checked. Nothing here asks a model."""
