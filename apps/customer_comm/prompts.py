"""What the governor and the specialists are told. What a customer wrote stands between marks: it is data, no order."""

from dataclasses import dataclass

from apps.prompts import given


@dataclass(frozen=True, slots=True)
class Specialist:
    """A member of the team: what it does, what sends a message to it, and the tools that it has."""

    name: str
    task: str
    hints: str
    tools: frozenset[str]


SPECIALISTS = (
    Specialist(
        "booking",
        "You book and cancel tandem flights, and you know which flights have seats left.",
        "book, reserve, cancel, reschedule, seats, free, slot",
        frozenset({"free_seats", "book_flight", "cancel_booking"}),
    ),
    Specialist(
        "weather",
        "You know the weather and whether it is safe to fly.",
        "weather, wind, rain, storm, safe, forecast",
        frozenset({"weather_forecast"}),
    ),
    Specialist(
        "care",
        "You care for customers: complaints, thanks, lost things, prices, and everything that is nobody else's.",
        "complain, refund, lost, thank, price, angry, sorry",
        frozenset(),
    ),
)
NAMES = tuple(specialist.name for specialist in SPECIALISTS)


def routing(text: str) -> str:
    """The governor's first question: who is needed."""
    hints = "\n".join(f"- {specialist.name}: {specialist.hints}" for specialist in SPECIALISTS)
    return (
        "You are the governor of a team that answers the customers of an operator of tandem flights. "
        "Which of your specialists does this message need?\n"
        f"{hints}\n"
        f"Choose all that apply: {', '.join(NAMES)}. Answer with names, separated by commas, and nothing else.\n"
        f"{given('text', text)}"
    )


def specialist_task(specialist: Specialist, text: str) -> str:
    """What a specialist is asked."""
    return (
        f"You are the {specialist.name} specialist of an operator of tandem flights. {specialist.task} "
        "Use your tools for what this customer asks of you, each request once; then tell the governor in one or two "
        "sentences what you found or did, with every reference, date and time. If something is missing, say what.\n"
        f"{given('text', text)}"
    )


def composition(text: str, notes: list[dict[str, str]]) -> str:
    """The governor's last question: what the customer is told."""
    said = "\n".join(f"{note['by']}: {note['note']}" for note in notes)
    return (
        "You are the governor. Write the answer to this customer from these notes of your specialists. "
        "Say nothing that is not in them.\n"
        f"{given('notes', said)}\n{given('text', text)}"
    )
