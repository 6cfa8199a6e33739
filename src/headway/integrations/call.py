"""The process of one call: `python -P call.py FOLDER KEY` calls a function and writes its value or its error.

Every call starts this program, so it imports as little as possible: nothing of Headway, and of the standard library
only what the function needs.
"""

from __future__ import annotations

import os
import sys
from _pickle import PicklingError, Unpickler, dumps, load, loads  # `pickle` itself takes 8 ms to import

TYPE_CHECKING = False  # `typing` would take 5 ms
if TYPE_CHECKING:
    from io import BufferedReader, BytesIO


class CallUnpickler(Unpickler):
    """Replaces the futures among the arguments by their values."""

    def __init__(self, file: BufferedReader | BytesIO, folder: str) -> None:
        super().__init__(file)
        self.folder = folder

    def persistent_load(self, key: str) -> object:
        with open(os.path.join(self.folder, f"{key}.value"), "rb") as file:
            return load(file)


def main(folder: str, key: str) -> int:
    """Call the function and write `KEY.value` (exit code 0) or `KEY.error` (exit code 1)."""
    base = os.path.join(folder, key)
    if os.path.exists(f"{base}.error"):  # of an earlier attempt
        os.unlink(f"{base}.error")
    try:
        with open(f"{base}.call", "rb") as file:
            directory, sys.path[:] = load(file)
            os.chdir(directory)
            function, args, kwargs = CallUnpickler(file, folder).load()
        write(f"{base}.value", pickled(function(*args, **kwargs)))
    except BaseException as error:
        write(f"{base}.error", described(error))
        return 1
    return 0


def pickled(value: object) -> bytes:
    """Pickle a value; cloudpickle can do what plain pickle cannot, such as classes of the caller's own script."""
    try:
        data: bytes = dumps(value, 5)
    except (PicklingError, AttributeError, TypeError):
        import cloudpickle

        data = cloudpickle.dumps(value, 5)
    return data


def described(error: BaseException) -> bytes:
    """Pickle an exception and its traceback; an exception that cannot be pickled is replaced by a RuntimeError."""
    import traceback

    error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without this file's line
    text = "".join(traceback.format_exception(error))
    try:
        data = pickled((error, text))
        loads(data)
    except Exception:
        name = f"{type(error).__module__}.{type(error).__qualname__}"
        data = pickled((RuntimeError(f"{name}: {error} (it cannot be pickled)"), text))
    return data


def write(path: str, data: bytes) -> None:
    """Write a file that is complete or absent."""
    with open(f"{path}.new", "wb") as file:
        file.write(data)
    os.rename(f"{path}.new", path)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
