"""What a person sees of a proof: while it runs, when it is over, and later."""
