"""Text as YAML: plain if that is safe, otherwise quoted or as a block."""

from __future__ import annotations

import re
from collections.abc import Iterator

_INDENT = "    "
_LONGEST_KEY = 1000  # YAML's own limit for `key:` is 1024

# Safe in lists too, and never read as a number, a date or a boolean.
_PLAIN = re.compile(r"(?=.*[A-Za-z/])[A-Za-z0-9_./][A-Za-z0-9_./+=@%~^-]*(?: [A-Za-z0-9_./+=@%~^-]+)*")
_TAKEN_FOR_ELSE = re.compile(
    r"(?i:y|n|yes|no|on|off|true|false|null|none|[.](?:inf|nan)|[0-9.]+e[+-]?[0-9]+|0[xob][0-9a-f_]+)"
)
# Safe after `key: `, where most characters are allowed.
_LINE = re.compile(r"(?!.*(?:: | #|:$| $))[A-Za-z_./$(][\x20-\x7e]*")
_PRINTABLE = re.compile("[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")


def inline(text: str) -> str:
    """The text on one line, also usable inside a list.

    >>> inline("part_aa"), inline("count[aa]"), inline("it's"), inline("no")
    ('part_aa', "'count[aa]'", "'it''s'", "'no'")
    """
    if _PLAIN.fullmatch(text) and not _TAKEN_FOR_ELSE.fullmatch(text):
        return text
    if _PRINTABLE.fullmatch(text) and not set("\t\n") & set(text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def key_text(name: str) -> Iterator[str]:
    """A task's name as a key on its own line."""
    text = name if _PLAIN.fullmatch(name.replace("[", "").replace("]", "")) and name[0] not in "[]" else inline(name)
    if _TAKEN_FOR_ELSE.fullmatch(name):
        text = inline(name)
    if len(text) <= _LONGEST_KEY:
        yield f"  {text}:"
    else:
        yield f"  ? {text}"
        yield "  :"


def block_text(key: str, text: str) -> Iterator[str]:
    """`key: text`, as a readable block if the text has several lines."""
    if _LINE.fullmatch(text) and not _TAKEN_FOR_ELSE.fullmatch(text):
        yield f"{_INDENT}{key}: {text}"
    elif text.strip() and _PRINTABLE.fullmatch(text) and not _TAKEN_FOR_ELSE.fullmatch(text):
        ending = "-" if not text.endswith("\n") else "+" if text.endswith("\n\n") else ""
        body = text.removesuffix("\n").split("\n")
        # If the first line begins with a space, the indentation must be given as a number.
        yield f"{_INDENT}{key}: |{'2' if body[0][:1] in ('', ' ', chr(9)) else ''}{ending}"
        yield from (f"{_INDENT}  {line}" if line else "" for line in body)
    else:
        yield f"{_INDENT}{key}: {inline(text)}"


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if _PRINTABLE.fullmatch(character) and character not in "\t\n":
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
