"""Where this program can be killed, in the order in which a task meets them."""

POINTS = (
    *("case:goal", "claude:before", "claude:started", "claude:writes", "claude:after", "result:kept"),
    *("answer:kept", "case:told", "case:moved"),
)
