"""The twelve steps, in order."""

from holdfast.prove.service.stage import ServiceStep
from holdfast.prove.service.steps.actions import ACTIONS
from holdfast.prove.service.steps.dashboard import DASHBOARD
from holdfast.prove.service.steps.logs import LOGS, SUMMARY
from holdfast.prove.service.steps.parts import BUILT, ENGINE, HEALTHY, INITIALISED, STARTED
from holdfast.prove.service.steps.power import PARTS
from holdfast.prove.service.steps.sessions import SESSIONS, STATES

STEPS: tuple[ServiceStep, ...] = (
    *(ENGINE, BUILT, HEALTHY, STARTED, INITIALISED, PARTS),
    *(SESSIONS, STATES, ACTIONS, DASHBOARD, LOGS, SUMMARY),
)
