"""The keys `partition`, `constraint`, `account`, `qos` and `gpu-type` of a task: in which jobs it may run."""

from __future__ import annotations

from headway.formats.fields import Reader, short
from headway.formats.safe_yaml import Entry
from headway.model.job import WISH_KEYS, Wish, may_be_known


def read_wish(reader: Reader, keys: dict[str, Entry], owner: str, *, has_gpus: bool) -> Wish | None:
    """What a task says of its jobs; None if it says nothing."""
    stated: dict[str, str] = {}
    if "gpu-type" in keys and not has_gpus:
        what = f"{owner} has 'gpu-type' and asks for no GPU"
        raise reader.error(keys["gpu-type"].line, what, "write 'resources: {gpus: 1}', too")
    for key in WISH_KEYS:
        if key in keys:
            text = reader.value(keys[key], f"{key!r} of {owner}").text
            if not may_be_known(key, text):
                what = f"{key!r} of {owner} is {short(text)}, which Slurm cannot know"
                raise reader.error(keys[key].line, what, f"write it as for sbatch, such as '{key}: long'")
            stated[key.replace("-", "_")] = text
    return Wish(**stated) if stated else None
