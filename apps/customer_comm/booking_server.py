"""The bundled MCP server of the operator: `python -m apps.customer_comm.booking_server FOLDER [PORT]`.

It speaks over stdin and stdout, or with a port over HTTP at `/mcp`. What changes something takes a `key` and does it
once for each key.
"""

import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from apps.customer_comm.bookings import Booking, BookingFolder, BookingRefused
from apps.customer_comm.bookings import weather as forecast
from apps.mcp_service import run

LOOKS = ToolAnnotations(read_only_hint=True)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True)


def create_server(bookings: BookingFolder) -> MCPServer[Any]:
    """The server of a folder of bookings."""

    def free_seats(date: str) -> dict[str, int]:
        """How many seats each flight of a day has left. The date is like 2026-07-01."""
        with _refusals():
            return bookings.free(date)

    def book_flight(date: str, time: str, passengers: int, name: str, key: str) -> dict[str, Any]:
        """Book a tandem flight. The date is like 2026-07-01 and the time like 10:00."""
        with _refusals():
            return _told(bookings.book(key, date, time, passengers, name))

    def cancel_booking(reference: str, key: str) -> dict[str, Any]:
        """Cancel a booking by its reference, like TF-12AB34CD56EF."""
        with _refusals():
            return _told(bookings.cancel(key, reference))

    def weather_forecast(date: str) -> dict[str, Any]:
        """The weather of a day and whether it is safe to fly in. The date is like 2026-07-01."""
        with _refusals():
            return forecast(date)

    server: MCPServer[Any] = MCPServer(
        "tandem-bookings", log_level="WARNING", instructions="Bookings of an operator of tandem flights."
    )
    for function, kind in (
        (free_seats, LOOKS),
        (weather_forecast, LOOKS),
        (book_flight, ADDS),
        (cancel_booking, CHANGES),
    ):
        server.tool(annotations=kind)(function)
    return server


class _refusals:  # noqa: N801  (a word in front of a block)
    """What the operator refuses, as the model reads it."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, BookingRefused):
            raise ToolError(str(error)) from error


def _told(booking: Booking) -> dict[str, Any]:
    status = "booked" if booking.cancelled_by is None else "cancelled"
    return {
        "reference": booking.reference,
        "status": status,
        "date": booking.date,
        "time": booking.time,
        "passengers": booking.passengers,
        "name": booking.name,
    }


def main() -> None:
    """Serve the folder; a port, which may be 0, serves it over HTTP."""
    run(create_server(BookingFolder(Path(sys.argv[1]))), int(sys.argv[2]) if len(sys.argv) > 2 else None)


if __name__ == "__main__":
    main()
