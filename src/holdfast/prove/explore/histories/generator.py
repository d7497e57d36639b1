"""Draws a history from a seed: scenes over several conversations, faults between and in the midst of them, an audit.

What is drawn depends on the seed, the number and the bounds alone. At the end everything that was told is asked for,
mostly right after a last fault, so that nothing that was lost goes unseen.
"""

from random import Random

from holdfast.prove.explore.histories.draft import Bounds, Draft
from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.scenes import scenes

FAULT_AFTER_SCENE = 0.3
FAULT_BEFORE_AUDIT = 0.8
STRIDE = 1_000_003


def generate(seed: int, number: int, bounds: Bounds) -> Course:
    """The history of that number."""
    random = Random(f"{seed}/history/{number}")
    draft = Draft(random, bounds)
    weights = scenes(bounds)
    for scene in random.choices(list(weights), list(weights.values()), k=random.randint(*bounds.scenes)):
        scene(draft)
        if bounds.faults and random.random() < FAULT_AFTER_SCENE:
            draft.add(*draft.faults())
    if bounds.faults and random.random() < FAULT_BEFORE_AUDIT:
        draft.add(*draft.faults())
    draft.audit()
    return Course(seed=seed * STRIDE + number, number=number, operations=tuple(draft.operations))
