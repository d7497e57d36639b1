"""One turn: its phases, the loop that asks the model and runs its tools, and the forms in which a model is asked."""
