"""The process of one call: `python -P call.py FOLDER KEY` calls a function and writes what came of it.

It is started once a call, so it imports as little as it can: nothing of Headway, and of the standard library only what
the function needs.
"""

from __future__ import annotations

import os
import sys
from _pickle import PicklingError, Unpickler, dumps, load, loads  # `pickle` itself takes 8 ms to import

TYPE_CHECKING = False  # `typing` would take 5 ms
if TYPE_CHECKING:
    from io import BufferedReader


class CallUnpickler(Unpickler):
    """Puts values in the place of the futures that were arguments."""

    def __init__(self, file: BufferedReader, folder: str) -> None:
        super().__init__(file)
        self.folder = folder

    def persistent_load(self, key: str) -> object:
        with open(os.path.join(self.folder, f"{key}.value"), "rb") as file:
            return load(file)


def main(folder: str, key: str) -> int:
    """Call, and leave `KEY.value` or `KEY.error`; the exit code says which."""
    base = os.path.join(folder, key)
    if os.path.exists(f"{base}.error"):  # an earlier attempt's
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
    """The value as bytes; what plain pickle cannot do, such as classes of the caller's own script, cloudpickle may."""
    try:
        data: bytes = dumps(value, 5)
    except (PicklingError, AttributeError, TypeError):
        import cloudpickle

        data = cloudpickle.dumps(value, 5)
    return data


def described(error: BaseException) -> bytes:
    """The exception and its traceback; if it does not survive pickling, one that says the same."""
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
    """All of it or nothing."""
    with open(f"{path}.new", "wb") as file:
        file.write(data)
    os.rename(f"{path}.new", path)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
