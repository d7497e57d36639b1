"""The proof: an outside view of an agent runtime, which it talks to, kills, restarts and judges.

A *proof* is one claim: steps that are taken against a *target* and a checker over the history they recorded.
Nothing in here knows how a runtime works inside; it imports core only.
"""
