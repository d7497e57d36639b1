"""The steps of a mail, and where this program can be killed, in the order in which a mail meets them."""

STEPS = ("fetch", "classify", "extract", "draft", "deliver")
POINTS = (
    "case:goal",
    *(f"{step}:{when}" for step in STEPS[:-1] for when in ("before", "after")),
    *("deliver:before", "send:started", "send:called", "note:called", "deliver:after"),
    *("case:told", "case:forgotten"),
)
