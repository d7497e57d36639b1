"""Sessions out of a store and into another, as portable archives."""
