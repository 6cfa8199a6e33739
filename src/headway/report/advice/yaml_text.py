"""Names as YAML, quoted where another reading is possible."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN_FOR_ELSE = re.compile(r"y|n|yes|no|on|off|true|false|null|none", re.IGNORECASE)


def yaml_name(name: str) -> str:
    r"""The name as a YAML scalar on one line.

    >>> print(yaml_name("align"), yaml_name("a:b"), yaml_name("yes"), yaml_name('é"' + chr(10)))
    align "a:b" "yes" "\u00e9\"\n"
    """
    if _PLAIN.fullmatch(name) and not _TAKEN_FOR_ELSE.fullmatch(name):
        return name
    return f'"{"".join(map(_escaped, name))}"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter == "\n":
        return "\\n"
    if " " <= letter <= "~":
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
