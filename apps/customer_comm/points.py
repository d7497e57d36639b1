"""Where this program can be killed, in the order in which a case meets them."""

POINTS = (
    *("post:kept", "case:goal", "route:before", "route:after", "specialist:before", "specialist:after"),
    *("tool:before", "tool:started", "tool:called", "tool:after", "compose:before", "compose:after"),
    *("deliver:before", "deliver:after", "case:told", "case:moved"),
)
