"""The proof of a store: a contract that anyone's session store can be put under, through a small adapter.

A *clause* is one claim about a store: steps that are taken with *clients*, each a process of its own, and a checker
over the facts that they recorded. What a store does not offer is said to be not offered, and is never green.
"""
