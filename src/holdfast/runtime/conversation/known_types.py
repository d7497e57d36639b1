"""What msgspec finds out about a type at its first use is not safe for two threads at once: the second may find it half
done, and the process ends with a segmentation fault. Whoever reads a type in threads has it looked at when it is
defined, where there is one thread."""

from typing import Any

import msgspec


def look_at(*kinds: Any) -> None:
    """Have msgspec find out about these types, and those in their fields, now."""
    for kind in kinds:
        msgspec.json.Decoder(kind)
