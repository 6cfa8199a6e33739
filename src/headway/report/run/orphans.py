"""The sentence about files that earlier runs made and that belong to no task now."""

from __future__ import annotations

import os
from collections.abc import Collection

from headway.report.words import count

_MOST_FOLDERS = 3


def orphan_sentence(paths: Collection[str]) -> str:
    """Say how many orphans there are, where, and how to delete them; empty if there are none.

    >>> orphan_sentence(["vcf/a.vcf", "vcf/b.vcf"])
    '2 files in vcf/ were made by earlier runs and belong to no task now: `headway clean --orphans` deletes them'
    """
    if not paths:
        return ""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(os.path.dirname(path), []).append(path)
    named = [f"in {folder}/" if folder else "here" for folder in folders]
    where = named[0]
    if len(named) > 1:
        parts = [f"{len(inside):,} {place}" for inside, place in zip(folders.values(), named, strict=True)]
        where = f"({', '.join(parts[:_MOST_FOLDERS])}{', …' if len(parts) > _MOST_FOLDERS else ''})"
    was, belong, them = ("was", "belongs", "it") if len(paths) == 1 else ("were", "belong", "them")
    made = f"{was} made by earlier runs and {belong} to no task now"
    return f"{count(len(paths), 'file')} {where} {made}: `headway clean --orphans` deletes {them}"
