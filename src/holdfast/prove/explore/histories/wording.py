"""The words of a history: what is said to the target, in words that every model understands, and what a reader is told.

Names that a target may remember from another time (contexts, things in memory, files) have a tag that was never used.
"""

from holdfast.prove.explore.histories.history import MESSAGE_LIMIT
from holdfast.prove.explore.histories.operations import (
    Again,
    Append,
    Ask,
    AskFile,
    Cancel,
    Chat,
    Follow,
    Idle,
    Kill,
    KillStart,
    LookUp,
    Message,
    Operation,
    Pause,
    Recall,
    Save,
    SendFile,
    Stop,
    TakeBack,
    Tell,
)
from holdfast.prove.explore.histories.values import Form, Value, draw

THINGS = ("city", "river", "fruit", "badge", "harbor", "planet", "garden", "bridge")
KEPT = ("color", "flower", "season", "metal", "bird", "dish")
SMALL_TALK = (
    "The rest is talk that nobody will ask for later: the weather was fair, the train was on time, the soup was warm, "
    "the road was long, the lamp was lit, and the evening went by as evenings do when there is nothing to be done."
)
"""Long enough that a few dozen of it are more than a model is shown at once."""
LONG_TAIL = "-" + "of-a-conversation-" * 4
HOW = {
    "wait": "",
    "at once": ", without waiting",
    "leave": ", and left running",
    "stream": ", as a stream",
    "cut": ", as a stream that is cut",
}
OTHER = MESSAGE_LIMIT
"""Added to the number of a message, this is the value of its second body."""


def context_id(number: int, tag: str) -> str:
    """The id of a context. The first are unlike each other; some of those after them are nearly equal to the first."""
    first = f"explore-{tag}-a"
    nearly = {
        4: first.replace("explore", "Explore"),
        5: f"{first}a",
        6: f"{first}.",
        7: f"{first}{LONG_TAIL}1",
        8: f"{first}{LONG_TAIL}2",
        9: f"explore-{tag}-а",
        10: f"{first} ",
    }
    return nearly.get(number, first if number == 0 else f"explore-{tag}-{chr(ord('a') + number % 26)}{number}")


def odd(number: int) -> bool:
    """Whether a target may well refuse the id of a context: it is very long, or not in plain letters."""
    return number in {7, 8, 9, 10}


def file_name(number: int, tag: str) -> str:
    """The name of a file that is sent."""
    return f"minutes-{tag}-{number}.txt"


def workspace_file(tag: str) -> str:
    """The file that lines are appended to."""
    return f"explored-{tag}.txt"


def thing(number: int) -> str:
    """What a fact is about."""
    return THINGS[number % len(THINGS)]


def kept_thing(number: int, tag: str) -> str:
    """What a fact in memory is about."""
    return f"{tag} {KEPT[number % len(KEPT)]}"


def line(message: int, seed: int) -> str:
    """The line that a message has appended."""
    return draw(seed, message, Form.WORD).text.lower() + str(message)


def value_of(operation: Operation, seed: int) -> Value | None:
    """The value that an operation tells, if it tells one."""
    match operation:
        case Tell() | SendFile():
            return draw(seed, operation.value, operation.form)
        case Save():
            return draw(seed, operation.value, Form.WORD)
    return None


def text_of(operation: Message, seed: int, tag: str) -> str:
    """What the target is told; empty for a file without words."""
    match operation:
        case Tell():
            value = draw(seed, operation.value, operation.form)
            told = f"My {thing(operation.fact)} is {_quoted(value, operation.form)}."
            return f"{told} Count slowly to {operation.slow}." if operation.slow else told
        case TakeBack():
            return f"Please forget my {thing(operation.fact)}: I take it back."
        case Ask():
            return f"What is my {thing(operation.fact)}?"
        case SendFile():
            return "Please keep this for later." if operation.words else ""
        case AskFile():
            return f"What is the code word in the file {file_name(operation.file, tag)}?"
        case Save():
            value = draw(seed, operation.value, Form.WORD)
            return f"Please use the memory tool to remember: my {kept_thing(operation.fact, tag)} is {value.text}."
        case Recall():
            return f"Use the memory tool to recall my {kept_thing(operation.fact, tag)}, then tell me what it is."
        case Append():
            slowly = f"Think for {operation.slow / 10:.1f} seconds. " if operation.slow else ""
            return f"{slowly}Append the line {line(operation.message, seed)} to the file {workspace_file(tag)}."
        case Chat():
            return f"Say hello. {SMALL_TALK}"


def file_text(operation: SendFile, seed: int) -> str:
    """The content of a file."""
    return (
        f"Minutes of a meeting.\nThe code word is {draw(seed, operation.value, operation.form).text}.\nNothing else.\n"
    )


def other_text(operation: Message, seed: int, tag: str) -> str:
    """The second body of a message."""
    number = OTHER + operation.message
    match operation:
        case Tell():
            return f"My {thing(operation.fact)} is {draw(seed, number, Form.WORD).text}."
        case Append():
            return f"Append the line {line(number, seed)} to the file {workspace_file(tag)}."
    return "Say something else."


def step(operation: Operation, seed: int) -> str:
    """An operation as a line for a reader."""
    together = "meanwhile, " if operation.joins else ""
    return together + _told(operation, seed)


def _told(operation: Operation, seed: int) -> str:
    match operation:
        case Tell() | TakeBack() | Ask() | SendFile() | AskFile() | Save() | Recall() | Append() | Chat():
            return f"{_said(operation, seed)} (context {operation.context}, message {operation.message})"
        case Again():
            body = "another body" if operation.other else "the same body"
            return f"deliver message {operation.message} again, with {body}"
        case Cancel():
            return f"cancel the task of message {operation.message}{_after(operation.after)}"
        case Follow():
            return f"subscribe to the task of message {operation.message}"
        case LookUp():
            return f"look up the task of message {operation.message} until it has ended"
        case Stop():
            return f"SIGTERM{_after(operation.after)}, and start again"
        case Kill():
            return f"SIGKILL{_after(operation.after)}, and start again"
        case KillStart():
            return f"SIGKILL, another at {operation.percent} % of the time that a start takes; then start again"
        case Pause():
            return f"SIGSTOP, and SIGCONT {operation.milliseconds} ms later"
        case Idle():
            return f"nothing for {operation.milliseconds} ms"


def _said(operation: Message, seed: int) -> str:
    match operation:
        case Tell():
            follows = "" if operation.follows is None else f", for the task of message {operation.follows}"
            return f"“{text_of(operation, seed, 'TAG')}”{follows}{HOW[operation.how]}"
        case Append():
            return f"“{text_of(operation, seed, 'TAG')}”{HOW[operation.how]}"
        case SendFile():
            words = "" if operation.words else ", without words"
            value = draw(seed, operation.value, operation.form).text
            return f"send {file_name(operation.file, 'TAG')} as {operation.by}, code word {value}{words}"
        case Chat():
            each = ", each time in a new context" if operation.apart else ""
            return f"say hello {operation.turns} times{each}"
    return f"“{text_of(operation, seed, 'TAG')}”"


def _after(milliseconds: int) -> str:
    return f" after {milliseconds} ms" if milliseconds else ""


def _quoted(value: Value, form: Form) -> str:
    return value.text if form is Form.WORD else f"«{value.text}»"
