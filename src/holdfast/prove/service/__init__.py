"""`holdfast prove service`: three programs at work over one session service, killed in the middle, seen from outside.

Nothing of the programs is imported: they are processes or containers, and what they did is read from the service's
API, from the files that they leave, and from the dashboard in a real browser. `apps/README.md` is the contract.
"""
