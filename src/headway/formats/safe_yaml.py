"""YAML as a tree with line numbers, in which every scalar is text as it was written.

Untrusted files are safe to read: nothing in them is executed or turned into objects, and limits protect stack, memory
and time. The tree is built from the parser's events without recursion, and depth, number of nodes, aliases and tags are
checked before a node is kept. Scalars stay text because YAML's conversions (`no` to false, `01` to 1, `1.10` to 1.1)
would change what a user wrote into a command.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import yaml
from msgspec import Struct

from headway.model.errors import InputError

try:
    from yaml import CBaseLoader as _Loader  # libyaml: twenty times as fast
except ImportError:  # pragma: no cover - PyYAML was built without libyaml
    from yaml import BaseLoader as _Loader  # type: ignore[assignment]

MAX_NODES = 5_000_000  # an alias counts as all the nodes that it stands for
MAX_DEPTH = 100

_PLAIN_TAGS = (None, "!", "tag:yaml.org,2002:str")
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG_DIRECTIVE = re.compile("(?:^|[\n\r\x85\u2028\u2029])%TAG")  # a million of these would stall libyaml
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")  # characters that only escape codes can produce
_MOST_SHOWN = 60  # characters of a line that is wrong
_INDENT_OR_QUOTE = "check the indentation and the quotes here and just above"
_ADVICE = (  # part of the parser's message, and what usually helps
    ("mapping values are not allowed", "put text that holds ': ' in quotes or on lines of its own after '|'"),
    ("tab character", "indent with spaces instead of tabs"),
    ("cannot start any token", "put text that begins with this character in quotes"),
    ("',' or", "close the bracket, or put text that holds brackets or braces in quotes"),
    ("end of stream", "close the quote or bracket that is still open"),
    ("escape", "use single quotes, in which a backslash is only a backslash"),
)


class Text(Struct, frozen=True, gc=False):
    """A scalar: its text as written, without quotes."""

    text: str
    line: int
    quoted: bool

    @property
    def missing(self) -> bool:
        """Whether there is no text at all, as in `inputs:` at the end of a line."""
        return not self.text and not self.quoted

    @property
    def null(self) -> bool:
        """Whether it is empty or one of YAML's words for null."""
        return not self.quoted and self.text in ("", "~", "null", "Null", "NULL")


class Listing(Struct, frozen=True):
    """A sequence."""

    items: list[Node]
    line: int


class Mapping(Struct, frozen=True):
    """A mapping; each entry has the line of its key."""

    entries: dict[str, Entry]
    line: int


class Entry(Struct, frozen=True):
    """A key's line and its value."""

    line: int
    value: Node


Node = Text | Listing | Mapping


def shown(path: Path) -> str:
    """The path for error messages: on one line, whatever bytes the file's name consists of."""
    text = str(path)
    return text if text.isprintable() else repr(text)[1:-1]


def parse_yaml(data: bytes, file: str) -> Node:
    """Parse the single document in `data`; `file` is its name in errors.

    >>> parse_yaml(b"a: [01, no]", "example.yaml").entries["a"].value.items[0].text
    '01'
    """
    text = _decode(data, file)
    try:
        return _Composer(file).compose(text)
    except yaml.MarkedYAMLError as problem:
        raise _syntax_error(problem, text, file) from None
    except (yaml.YAMLError, ValueError, OverflowError) as problem:  # the pure Python parser's number conversions
        reason = next(iter(str(problem).splitlines()), type(problem).__name__)
        raise InputError(f"this is not YAML ({reason})", where=f"{file}:1", todo=_INDENT_OR_QUOTE) from None


def _decode(data: bytes, file: str) -> str:
    text = decoded(data, file)
    if odd := _UNREADABLE.search(text):
        what, end = f"the file holds the unreadable character {odd[0]!r}", odd.start()
    elif directive := _TAG_DIRECTIVE.search(text):
        what, end = "the directive %TAG is not allowed", directive.end()
    else:
        return text
    raise InputError(what, where=f"{file}:{text.count(chr(10), 0, end) + 1}", todo="remove it")


def decoded(data: bytes, file: str) -> str:
    """The text of a file in UTF-8; an InputError names the line of another byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        what = f"byte 0x{data[problem.start]:02x} is not UTF-8 text"
        where = f"{file}:{data.count(10, 0, problem.start) + 1}"
        raise InputError(what, where=where, todo="save the file as UTF-8") from None


def _syntax_error(problem: yaml.MarkedYAMLError, text: str, file: str) -> InputError:
    what = problem.problem or str(problem)
    todo = next((advice for sign, advice in _ADVICE if sign in what), _INDENT_OR_QUOTE)
    mark = problem.problem_mark or problem.context_mark
    if mark and problem.context_mark and not text[mark.index :].strip():
        mark = problem.context_mark  # the text ended too early: point to where the unclosed value began
    if mark and "cannot start any token" in what and text[mark.index : mark.index + 1] == "\t":
        what, todo = "found a tab", "indent with spaces instead of tabs"
    line = mark.line + 1 if mark else 1
    context = f" {problem.context}" if problem.context else ""
    near = (text + line * "\n").split("\n")[line - 1].strip()[:_MOST_SHOWN]
    at = f" in {near!r}" if near else ""
    return InputError(f"this is not YAML:{context} {what}{at}", where=f"{file}:{line}", todo=todo)


class _Open(Struct):
    """A collection whose end has not been read yet."""

    node: Listing | Mapping
    anchor: str | None
    nodes_before: int
    key: Text | None = None  # in a mapping: the key whose value comes next


class _Composer:
    """Builds the tree from events, with an explicit stack instead of recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.stack: list[_Open] = []
        self.anchors: dict[str, tuple[Node, int]] = {}  # a node, and how many nodes an alias of it stands for
        self.nodes = 0
        self.root: Node | None = None

    def compose(self, text: str) -> Node:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.ScalarEvent):
                self.scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self.start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self.end()
            elif isinstance(event, yaml.AliasEvent):
                self.alias(event)
            elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
                self.fail(event, "a second YAML document begins here", "keep one document in the file")
        if self.root is None:
            raise InputError("this file is empty", where=f"{self.file}:1", todo="write a name and some tasks")
        return self.root

    def fail(self, event: yaml.Event, what: str, todo: str) -> NoReturn:
        raise InputError(what, where=f"{self.file}:{_line(event)}", todo=todo)

    def count(self, event: yaml.Event, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            self.fail(event, f"the file stands for more than {MAX_NODES:,} values", "use fewer aliases or fewer values")

    def check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag not in _PLAIN_TAGS:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.fail(event, f"the tag {tag[:80]!r} is not allowed", "remove it")

    def scalar(self, event: yaml.ScalarEvent) -> None:
        self.count(event, 1)
        self.check_tag(event)
        if _IMPOSSIBLE.search(event.value):
            self.fail(event, "a text holds a character that no command or path can hold", "remove its escape code")
        text = Text(event.value, _line(event), bool(event.style))
        if event.anchor:
            self.anchors[event.anchor] = text, 1
        self.place(text, event)

    def start(self, event: yaml.CollectionStartEvent) -> None:
        self.check_tag(event)
        if len(self.stack) >= MAX_DEPTH:
            self.fail(event, f"values are nested more than {MAX_DEPTH} deep", "close a bracket or write it flatter")
        if event.anchor:
            self.anchors.pop(event.anchor, None)  # not usable before the collection ends
        line = _line(event)
        node: Listing | Mapping = Mapping({}, line) if isinstance(event, yaml.MappingStartEvent) else Listing([], line)
        before = self.nodes
        self.count(event, 1)
        self.place(node, event)
        self.stack.append(_Open(node, event.anchor, before))

    def end(self) -> None:
        done = self.stack.pop()
        if done.anchor:
            self.anchors[done.anchor] = done.node, self.nodes - done.nodes_before

    def alias(self, event: yaml.AliasEvent) -> None:
        name = event.anchor or ""
        found = self.anchors.get(name)
        if found is None:
            what = f"the alias *{name[:80]} has no anchor that ended before it"
            self.fail(event, what, f"define it first, with &{name[:80]}")
        node, nodes = found
        self.count(event, nodes)
        self.place(node, event)

    def place(self, node: Node, event: yaml.Event) -> None:
        """Append a node to the innermost open collection, or make it the root."""
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        if isinstance(parent.node, Listing):
            parent.node.items.append(node)
        elif parent.key is None:
            parent.key = self.new_key(node, parent.node, event)
        else:
            parent.node.entries[parent.key.text] = Entry(parent.key.line, node)
            parent.key = None

    def new_key(self, node: Node, mapping: Mapping, event: yaml.Event) -> Text:
        if not isinstance(node, Text):
            self.fail(event, "a key is a list or a mapping instead of text", "write a name, or put the text in quotes")
        if earlier := mapping.entries.get(node.text):
            self.fail(
                event, f"the key {node.text[:80]!r} already stands on line {earlier.line}", "remove one of the two"
            )
        return Text(node.text, _line(event), node.quoted)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1
