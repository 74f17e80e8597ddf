"""How the command line ends: exit codes, and the errors that have them."""

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """What the status of a command says; `meaning` says it in words."""

    DONE = 0, "done"
    NOT_POSSIBLE = 1, "the data or the model do not allow it"
    WRONG_USE = 2, "wrong use of the command"
    FILE = 3, "a file cannot be read or written"
    INTERRUPTED = 130, "interrupted"  # 128 + SIGINT, as shells report it
    PIPE_CLOSED = 141, "the program that read the output has ended"  # 128 + SIGPIPE, as of any program in a pipe

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "ExitCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member


class CommandError(Exception):
    """An error whose message says all that a user needs: what was wrong, and what to do.

    Parameters
    ----------
    message : str
    program : sequence of str
        Lines of Python that help; they are shown as lines.
    """

    exit_code = ExitCode.NOT_POSSIBLE

    def __init__(self, message: str, program: Sequence[str] = ()):
        super().__init__(message)
        self.program = tuple(program)


class DataError(CommandError):
    """Data or a model with which nothing sensible can be done; the message says what would help."""


class UsageError(CommandError):
    """Options that contradict each other, or need another one."""

    exit_code = ExitCode.WRONG_USE


class FileError(CommandError):
    """A file that cannot be read or written; the message says why and what to do."""

    exit_code = ExitCode.FILE
