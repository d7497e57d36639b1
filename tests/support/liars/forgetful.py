"""A gateway that forgets idempotency keys: a retry is a new write."""

from typing import Any

from holdfast.cli import main
from holdfast.store import part
from holdfast.store.log import prepare

remember = prepare.prepare


def forget(*args: Any, **kwargs: Any) -> prepare.PreparedEvent:
    """The event without its key."""
    return remember(*args, **kwargs)._replace(idempotency_key=None)


if __name__ == "__main__":
    prepare.prepare = forget
    part.prepare = forget  # type: ignore[attr-defined]
    main()
