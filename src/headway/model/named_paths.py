"""The paths that a command names: its words, in any shell or scripting language, that can be relative paths."""

from __future__ import annotations

import re
from posixpath import normpath

from headway.model.task import Task, is_pattern

_WORD = r"[^\s'\"`;|&<>()=,:{}$\\]+"
_TARGET = rf"\s*(?:\"[^\"\n]*\"|'[^'\n]*'|{_WORD})"
# Alternatives without a group are not read: comments, arithmetic (its stars are no patterns), escaped characters, and
# what is written.
_PARTS = re.compile(
    rf"(?:#(?<!\S#)[^\n]*|\$\(\([^\n]{{0,200}}?\)\)|\\.|>>?[|&]?{_TARGET}"
    rf"|(?:-(?<!\S-)(?:o|-out[\w-]*)|t(?<!\S.)(?:ee(?: -a)?|ouch)|m(?<!\S.)kdir(?: -p)?)[\s=]{_TARGET})"
    rf"|\"([^\"\n]*)\"|'([^'\n]*)'|({_WORD})",
    re.DOTALL,
)
_INNER = re.compile(_WORD)
_ORDINARY = re.compile(r"[A-Za-z_][\w-]*(?:[./][\w-]+)*")  # most words: normalised, relative paths at first sight
_NO_PATH = re.compile(r"[-+]?[\d.,]*|-.*|[?.]*/?|.*//.*|[~/].*|.*\.\.(?:/.*|$)|.*[\x00-\x1f].*", re.DOTALL)
_LONGEST = 1000


def named_paths(task: Task) -> set[str]:
    """Return the relative paths and patterns that the command and the setup of a task may name.

    What the command writes, such as the file after `>`, is not among them. Whether a path exists is for the caller to
    find out.

    >>> sorted(named_paths(Task("t", "t", "./align.py --ref=ref.fa 'my reads.fq' *.txt 2> log | sort -k 2 > out")))
    ['*.txt', 'align.py', 'my', 'my reads.fq', 'reads.fq', 'ref.fa', 'sort']
    """
    found: set[str] = set()
    for text in (*task.setup, task.command):
        for double, single, word in _PARTS.findall(text):
            quoted = double or single
            if word:
                found.add(word)
            elif quoted:
                found.add(quoted)
                if not quoted.isspace() and not _INNER.fullmatch(quoted):
                    found.update(inner for inner in _INNER.findall(quoted) if not is_pattern(inner))
    ordinary = {word for word in found if _ORDINARY.fullmatch(word)}
    others = (word for word in found - ordinary if len(word) <= _LONGEST and not _NO_PATH.fullmatch(word))
    return ordinary.union(map(normpath, others))
