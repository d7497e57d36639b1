"""Whatever is done to a conversation, it is the same in every storage, and the same to whoever loads it."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.runtime.conversation.drawn_changes import LIMITS, drawn, seen
from tests.runtime.conversation.places import Place

CHANGES = 30


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 80), marks=pytest.mark.long(seconds=60))])
def test_the_same_changes_come_to_the_same_conversation(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, seeds: Sequence[int]
) -> None:
    url = request.getfixturevalue(f"conversations_in_{kind}")
    for seed in seeds:
        places = [Place(tmp_path / f"file-{seed}"), Place(tmp_path / f"store-{seed}", url)]
        for place in places:
            place.root.mkdir()
        sessions = [place.new(**LIMITS) for place in places]
        for number, step in enumerate(drawn(seed, CHANGES)):
            sessions = [step(place, session) for place, session in zip(places, sessions, strict=True)]
            in_file, in_store = map(seen, sessions)
            assert in_store == in_file, f"seed {seed}, change {number}"
        for place, session in zip(places, sessions, strict=True):
            session.persist()
            assert seen(place.again(session)) == seen(session), f"seed {seed}"
