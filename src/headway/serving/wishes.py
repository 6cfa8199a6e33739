"""In which jobs of a cluster a command may run: what clients say themselves, and in options of sbatch."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

from msgspec import structs

from headway.model.errors import InputError
from headway.model.job import WISH_KEYS, Wish, may_be_known
from headway.serving import messages

Asking = TypeVar("Asking", bound=messages.Wanted)

_SHORT = {"-p": "--partition", "-A": "--account", "-q": "--qos", "-C": "--constraint", "-G": "--gpus"}
_READ = ("--partition", "--account", "--qos", "--constraint")
_GPUS = re.compile(r"(?:(?P<type>[A-Za-z]\w*)[:=])?(?P<number>[1-9]\d{0,6})|(?P<only>[A-Za-z]\w*)")  # 2, a100:2, a100
_GRES = re.compile(r"gpu(?:[:=](?P<rest>.+))?")


class Read(NamedTuple):
    """What options of sbatch say of a command's jobs, and those that Headway does not pass on."""

    wish: Mapping[str, str]
    gpus: int
    unread: tuple[str, ...]


def read_wish(stated: Mapping[str, str]) -> Wish | None:
    """Return what a client says of a command's jobs; None if it says nothing."""
    for key, text in stated.items():
        if key not in WISH_KEYS:
            raise InputError(f"there is no wish {key!r}", todo=f"there are {', '.join(WISH_KEYS)}")
        if not may_be_known(key, text):
            raise InputError(f"{key} is {text[:80]!r}, which Slurm cannot know", todo="write it as for sbatch")
    return Wish(**{key.replace("-", "_"): text for key, text in stated.items()}) if stated else None


def with_sbatch(request: Asking) -> tuple[Asking, str]:
    """Return a request with the wish that its options of sbatch mean, and a sentence if some have no effect."""
    read = read_sbatch(request.sbatch)
    hints = {**({"gpus": float(read.gpus)} if read.gpus else {}), **request.hints}
    wish = {**request.wish, **read.wish}
    if "gpus" not in hints:
        wish.pop("gpu-type", None)
    remark = ""
    if read.unread:
        remark = (
            f"options of sbatch that have no effect: {' '.join(read.unread)}; of a task's own Headway heeds partition, "
            "account, qos, constraint and gpus; its own option --sbatch is for all jobs"
        )
    return structs.replace(request, wish=wish, hints=hints, sbatch=""), remark


@lru_cache(maxsize=1000)
def read_sbatch(text: str) -> Read:
    """Return what options of sbatch say of jobs. What is not understood is not an error.

    >>> read_sbatch("-p long --account=physics --gres=gpu:a100:2 --mail-user me@example.org")
    Read(wish={'partition': 'long', 'account': 'physics', 'gpu-type': 'a100'}, gpus=2, unread=('--mail-user',))
    """
    try:
        words = shlex.split(text)
    except ValueError:  # a quote without its end
        words = text.split()
    wish: dict[str, str] = {}
    gpus, unread = 0, []
    while words:
        flag, value = _next_option(words)
        found = _gpus(flag, value)
        if flag in _READ and value:
            wish[flag[2:]] = value
        elif found is not None:
            gpus, kind = found
            wish |= {"gpu-type": kind} if kind else {}
        else:
            unread.append(flag)
    return Read(wish, gpus, tuple(unread))


def _next_option(words: list[str]) -> tuple[str, str]:
    """Take an option and its value, if it has one, from the front of a list."""
    word = words.pop(0)
    if word.startswith("--"):
        flag, equals, value = word.partition("=")
    elif re.match(r"-[A-Za-z]", word):
        flag, value = _SHORT.get(word[:2], word[:2]), word[2:].removeprefix("=")
        equals = value
    else:
        return word, ""
    if not equals and words and not words[0].startswith("-"):
        value = words.pop(0)
    return flag, value


def _gpus(flag: str, value: str) -> tuple[int, str] | None:
    """Return how many GPUs of which type an option asks for on a node; None if it asks for none."""
    if flag == "--gres":
        gres = _GRES.fullmatch(value)
        if gres is None:
            return None
        value = gres["rest"] or "1"
    elif flag not in ("--gpus", "--gpus-per-node"):
        return None
    said = _GPUS.fullmatch(value)
    return (int(said["number"] or 1), said["type"] or said["only"] or "") if said else None
