"""The plan in an answer: its numbered steps, as the words tell them."""

import re

STEP = re.compile(r"(?:\A|(?<=\s))(\d{1,2})[.)]\s+(\S.*?)(?=\s\d{1,2}[.)]\s|\n|\Z)")
FEWEST = 2
MOST = 20
MAX_STEP = 200


def steps_in(text: str) -> list[str]:
    """The steps of the first list that is numbered from 1, without a gap; none if it has not even two."""
    found: list[str] = []
    for number, words in STEP.findall(text):
        if int(number) == len(found) + 1 and len(found) < MOST:
            found.append(words.strip()[:MAX_STEP])
    return found if len(found) >= FEWEST else []
