"""Facts come from the seed: classic for 0, the same again for the same seed, and different for each proof."""

from holdfast.prove.runtime.facts import draw


def test_seed_0_is_the_classic_set() -> None:
    assert draw(0, "name").name == "Hongming"
    assert draw(0, "memory").color == "blue"


def test_a_seed_gives_the_same_facts_again() -> None:
    assert draw(7, "name") == draw(7, "name")


def test_no_two_facts_of_a_run_are_alike() -> None:
    drawn = [draw(7, proof) for proof in ("name", "isolation", "crash")]
    words = [word.lower() for facts in drawn for word in (facts.name, facts.other_name, facts.color)]
    assert len(set(words)) == len(words)
    assert draw(7, "name") != draw(8, "name")
