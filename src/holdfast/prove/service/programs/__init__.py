"""The three programs of `apps/`: what each is given, and what it must come to."""

from holdfast.prove.service.program import ProgramSpec
from holdfast.prove.service.programs.claude_cli import CLAUDE_CLI
from holdfast.prove.service.programs.customer_comm import CUSTOMER_COMM
from holdfast.prove.service.programs.email_solver import EMAIL_SOLVER

PROGRAMS: tuple[ProgramSpec, ...] = (CUSTOMER_COMM, EMAIL_SOLVER, CLAUDE_CLI)
