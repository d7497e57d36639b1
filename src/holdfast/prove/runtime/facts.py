"""The facts that are told to a target and asked back, drawn from a seed so that no answer can be canned.

Seed 0 gives the classic ones. Every other seed gives each proof words of its own, which no model knows.
Ids of messages, contexts and files do not come from the seed: a target may well remember them from last time.
"""

from dataclasses import dataclass
from random import Random

FIRST = "BCDFGHJKLMNPQRSTVWXZ"
LATER = "abcdefghjkmnpqrstuvwxyz"
DIGITS = "23456789"
ACCENTED = "áàâäãåçéèêëíïñóôöøúüýšžř"
CYRILLIC = "бвгдежзиклмнопрстфцчшэюя"
HAN = "日月山川田木水火金土花草鳥魚雨雪雲星空海"


@dataclass(frozen=True, slots=True)
class Facts:
    """What one proof tells its target. `cities` replace each other, in this order; `secret` is known to the peer only.

    `code_word` is what a file has to say. `scripts` are words in letters that are not ASCII.
    """

    name: str
    other_name: str
    color: str
    cities: tuple[str, str, str]
    fruit: str
    code_word: str
    file_name: str
    secret: str
    scripts: tuple[str, str, str]

    @property
    def file_text(self) -> str:
        """The content of a file that is sent."""
        return (
            f"These are the minutes of the last meeting.\nThe code word is {self.code_word}.\nNothing else was said.\n"
        )


CLASSIC = Facts(
    name="Hongming",
    other_name="Marisol",
    color="blue",
    cities=("Lisbon", "Nairobi", "Osaka"),
    fruit="mango",
    code_word="albatross",
    file_name="minutes.txt",
    secret="sassafras",
    scripts=("smörgåsbord", "Волга", "向日葵"),
)


def draw(seed: int, proof: str) -> Facts:
    """The facts of one proof under a seed: the same for the same pair, on every machine."""
    if seed == 0:
        return CLASSIC
    random = Random(f"{seed}/{proof}")
    return Facts(
        name=_word(random),
        other_name=_word(random),
        color=_word(random).lower(),
        cities=(_word(random), _word(random), _word(random)),
        fruit=_word(random).lower(),
        code_word=_word(random).lower(),
        file_name=f"{_word(random).lower()}.txt",
        secret=_word(random).lower(),
        scripts=(_of(random, ACCENTED), _of(random, CYRILLIC).capitalize(), _of(random, HAN)),
    )


def _word(random: Random) -> str:
    """A word such as Zq7kfa: pronounceable by nobody, found in no corpus."""
    tail = "".join(random.choice(LATER) for _ in range(3))
    return random.choice(FIRST) + random.choice(LATER) + random.choice(DIGITS) + tail


def _of(random: Random, letters: str) -> str:
    return "".join(random.choice(letters) for _ in range(6))
