"""`holdfast chat`: a conversation with an agent on a terminal.

`conversation` is what can be talked to: `local_conversation` runs the turns in this process, `gateway_conversation` has
a gateway run them. `program` is the dialogue, with `editor` for what is typed, `turn_view` for what is shown,
`permission_question` and the table of `commands`; `one_turn` is the same for scripts. What an agent says never drives
the terminal.
"""
