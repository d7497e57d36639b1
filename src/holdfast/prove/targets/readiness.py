"""Whether a target is ready: what every way of starting one waits for."""

from collections.abc import Sequence

from holdfast.prove.wire.client import AccessRefused, TransportFault, Wire

LOOK_SECONDS = 2.0


async def says_ready(wire: Wire, paths: Sequence[str]) -> bool:
    """Whether one of the paths answers 200; one that lets nobody in is ready too, and whoever asks next is told so."""
    for path in paths:
        try:
            if (await wire.get(path, within=LOOK_SECONDS)).status == 200:
                return True
        except AccessRefused:
            return True
        except TransportFault:
            continue
    return False
