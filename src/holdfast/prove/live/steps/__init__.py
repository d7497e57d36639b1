"""The seven steps of the scenario, in order. Each works on sessions of the proof's own."""

from holdfast.prove.live.stage import LiveStep
from holdfast.prove.live.steps.accessors import ACCESSORS
from holdfast.prove.live.steps.chat import CHAT
from holdfast.prove.live.steps.checkpoints import CHECKPOINTS
from holdfast.prove.live.steps.cleanup import CLEANUP
from holdfast.prove.live.steps.identity import IDENTITY
from holdfast.prove.live.steps.patch import PATCH
from holdfast.prove.live.steps.recovery import RECOVERY

SCENARIO: tuple[LiveStep, ...] = (CHAT, IDENTITY, ACCESSORS, PATCH, CHECKPOINTS, RECOVERY, CLEANUP)
