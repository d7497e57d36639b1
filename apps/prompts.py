"""What strangers wrote, on its way to a model: between marks that it cannot close, as data."""


def given(mark: str, words: str) -> str:
    """Words of a stranger between marks."""
    return f"<{mark}>\n{words.replace('<', '‹').replace('>', '›')}\n</{mark}>"
