"""The contract: one file per clause, each with a `CLAUSE`. A file that is put here is found."""

from collections.abc import Collection
from importlib import import_module
from pkgutil import iter_modules

from holdfast.core.errors import InvalidInput
from holdfast.prove.store.clause import Clause


def contract() -> dict[str, Clause]:
    """Every clause by name: those that need nothing of a store first."""
    found: list[Clause] = [import_module(f"{__name__}.{module.name}").CLAUSE for module in iter_modules(__path__)]
    found.sort(key=lambda clause: (bool(clause.needs), clause.name))
    return {clause.name: clause for clause in found}


def select(clauses: dict[str, Clause], only: Collection[str]) -> list[Clause]:
    """The clauses asked for (all if none is), in the order of the contract."""
    unknown = sorted(set(only) - set(clauses))
    if unknown:
        raise InvalidInput(
            f"there is no clause named {', '.join(unknown)}", hint=f"one or more of {', '.join(clauses)}"
        )
    return [clause for clause in clauses.values() if not only or clause.name in only]
