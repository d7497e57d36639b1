"""Which of the names that there are was meant by one that there is not."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest of the names, and all of them; capitals and underscores do not count."""
    names = sorted(known)
    nearest = max(names, key=lambda each: difflib.SequenceMatcher(None, _folded(name), _folded(each)).ratio())
    return f"did you mean {nearest!r}? There are {', '.join(names)}"


def _folded(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")[:100]
