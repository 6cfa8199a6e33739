"""A program that uses a GPU through CUDA's driver alone: `python program.py hold GIB SECONDS`, `fill` or `count`.

`hold` allocates memory and holds it, `fill` allocates until there is none left, and `count` prints how many GPUs it
sees. Nothing has to be installed for it.
"""

from __future__ import annotations

import ctypes
import sys
import time

GIB = 2**30


class Cuda:
    """The few functions of the driver that are needed; an error ends the program with the driver's name for it."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def __call__(self, name: str, *arguments: object) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            sys.exit(f"{name}: {(text.value or b'an unknown error').decode()}")

    def count(self) -> int:
        """The number of GPUs that this process sees."""
        number = ctypes.c_int()
        if self._library.cuInit(0):
            return 0
        self("cuDeviceGetCount", ctypes.byref(number))
        return number.value

    def open(self) -> None:
        """Begin to use the first GPU."""
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuCtxCreate_v2", ctypes.byref(context), 0, device)

    def allocate(self, size: int) -> None:
        """Allocate memory and write to it."""
        memory = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size))
        self("cuMemsetD8_v2", memory, ctypes.c_ubyte(1), ctypes.c_size_t(size))
        self("cuCtxSynchronize")


def main() -> None:
    """Do what the first word says."""
    cuda = Cuda()
    match sys.argv[1:]:
        case ["count"]:
            print(cuda.count())
        case ["hold", gib, seconds]:
            cuda.open()
            cuda.allocate(int(float(gib) * GIB))
            time.sleep(float(seconds))
        case ["fill"]:
            cuda.open()
            while True:
                cuda.allocate(GIB)


if __name__ == "__main__":
    main()
