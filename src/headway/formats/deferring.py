"""Which entries of a workflow file become tasks only while the run goes on.

An entry whose `each` has `from` waits for what another task makes. So does every entry that depends on such an entry:
by `from`, by `needs`, or because one of its inputs may be an output of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from posixpath import normpath

from headway.formats.fields import Reader, did_you_mean, short
from headway.formats.read_each import EachReader
from headway.formats.safe_yaml import Entry, Listing, Node, Text
from headway.formats.safe_yaml import Mapping as YamlMapping
from headway.model.deferred import DeferredBlock
from headway.model.workflow import folders_above

_NAME = re.compile(r"\{[^{}\s]*\}")


def deferred_blocks(reader: Reader, entries: Mapping[str, Entry], eaches: EachReader) -> list[DeferredBlock]:
    """Return the entries that are deferred, each after those that it depends on."""
    triggers = {name: _trigger(reader, name, entry, entries, eaches) for name, entry in entries.items()}
    if not any(triggers.values()):
        return []
    _check_sources(reader, {name: entry for name, entry in entries.items() if triggers[name]}, entries, eaches)
    named = {name: _named(entry, entries) | set(triggers[name]) - {name} for name, entry in entries.items()}
    above = {name: _reach(name, named) for name in entries}
    outputs = {name: [*_patterns(entry, "outputs"), *_patterns(entry, "temp")] for name, entry in entries.items()}
    links = {
        name: named[name]
        | {
            other
            for other in entries
            if other != name and name not in above[other] and _may_read(_patterns(entry, "inputs"), outputs[other])
        }
        for name, entry in entries.items()
    }
    deferred = {name for name, of in triggers.items() if of}
    while more := {name for name in entries if name not in deferred and links[name] & deferred}:
        deferred |= more
    blocks = []
    for name in _in_order(reader, entries, links, deferred):
        after = tuple(other for other in entries if other in links[name] & deferred)
        needs = tuple(other for other in entries if other in links[name] - deferred)
        keys = entries[name].value
        words = eaches.words(keys.entries["each"]) if triggers[name] and isinstance(keys, YamlMapping) else ""
        makes = tuple("/".join(parts) for parts in outputs[name])
        blocks.append(DeferredBlock(name, triggers[name], after, needs, words, makes=makes))
    return blocks


def _check_sources(
    reader: Reader, deferred: Mapping[str, Entry], entries: Mapping[str, Entry], eaches: EachReader
) -> None:
    """Raise an error for a temporary sheet, or files in a temporary directory: the next run would not know its tasks.

    Temporary files that are named one by one are known although they are gone.
    """
    temporary = {"/".join(parts): name for name, entry in entries.items() for parts in _patterns(entry, "temp")}
    for name, entry in deferred.items():
        source = eaches.made_source(entry.value.entries["each"]) if isinstance(entry.value, YamlMapping) else None
        if source is None:
            continue
        path = normpath(_NAME.sub("*", source.text))
        for each in folders_above(path) if "*" in path else (path,):
            if each in temporary:
                what = f"{short(each)}, of which 'each' of task {short(name)} makes tasks, is temporary"
                todo = f"list it under 'outputs' of task {short(temporary[each])}, not under 'temp'"
                raise reader.error(source.line, what, todo)


def sheets_of(reader: Reader, entries: Mapping[str, Entry], blocks: Sequence[DeferredBlock]) -> Iterator[Entry]:
    """Yield the `each` of deferred entries that can be read now: what they say must stay as it is now."""
    for block in blocks:
        keys = reader.mapping(entries[block.name], f"task {short(block.name)}", "'run: echo hello' below its name")
        if not block.of and "each" in keys:
            yield keys["each"]


def _trigger(
    reader: Reader, name: str, entry: Entry, entries: Mapping[str, Entry], eaches: EachReader
) -> tuple[str, ...]:
    """The entry whose tasks make the rows or files of this one's `each`."""
    if not isinstance(entry.value, YamlMapping) or "each" not in entry.value.entries:
        return ()
    text = eaches.trigger(entry.value.entries["each"])
    if text is None:
        return ()
    if text.text == name:
        raise reader.error(text.line, f"'from' in 'each' of task {short(name)} names the task itself", "name another")
    if text.text not in entries:
        todo = did_you_mean(text.text, [other for other in entries if other != name], "the other tasks are")
        what = f"'from' in 'each' of task {short(name)} names {short(text.text)}, which does not exist"
        raise reader.error(text.line, what, todo)
    return (text.text,)


def _named(entry: Entry, entries: Mapping[str, Entry]) -> set[str]:
    """The entries that `needs`, and `from` in `inputs`, name."""
    keys = entry.value.entries if isinstance(entry.value, YamlMapping) else {}
    texts = list(_texts(keys["needs"].value)) if "needs" in keys else []
    for item in _items(keys["inputs"].value) if "inputs" in keys else ():
        if isinstance(item, YamlMapping) and "from" in item.entries:
            texts += _texts(item.entries["from"].value)
    return {name for text in texts if (name := text.partition("[")[0]) in entries}


def _items(node: Node) -> list[Node]:
    return node.items if isinstance(node, Listing) else [node]


def _texts(node: Node) -> Iterator[str]:
    return (item.text for item in _items(node) if isinstance(item, Text))


def _patterns(entry: Entry, key: str) -> list[list[str]]:
    """The paths of a key as patterns, in which a star stands for whatever a name in braces may be."""
    keys = entry.value.entries if isinstance(entry.value, YamlMapping) else {}
    texts = _texts(keys[key].value) if key in keys else ()
    return [normpath(_NAME.sub("*", text)).split("/") for text in texts if text]


def _may_read(inputs: list[list[str]], outputs: list[list[str]]) -> bool:
    """Whether an input may be an output, lie in it, or be a directory in which it lies."""
    return any(all(map(_may_agree, read, made)) for read in inputs for made in outputs)


def _may_agree(one: str, other: str) -> bool:
    """Whether a name can fit both patterns; said of too many rather than too few."""
    if not any(mark in other for mark in "*?["):
        one, other = other, one
    if not any(mark in one for mark in "*?["):
        return fnmatchcase(one, other)
    ends = [re.split(r"[*?\[]", text) for text in (one, other)]
    first, last = (ends[0][0], ends[1][0]), (ends[0][-1], ends[1][-1])
    begins = first[0].startswith(first[1]) or first[1].startswith(first[0])
    return begins and ("]" in last[0] + last[1] or last[0].endswith(last[1]) or last[1].endswith(last[0]))


def _reach(name: str, links: Mapping[str, set[str]]) -> set[str]:
    """The entries that one depends on, as far as they are named."""
    reached: set[str] = set()
    ahead = [name]
    while ahead:
        more = links[ahead.pop()] - reached
        reached |= more
        ahead += more
    return reached


def _in_order(
    reader: Reader, entries: Mapping[str, Entry], links: Mapping[str, set[str]], deferred: set[str]
) -> list[str]:
    """The deferred entries, each after those that it depends on."""
    order: list[str] = []
    while len(order) < len(deferred):
        free = [name for name in entries if name in deferred - set(order) and not links[name] & deferred - set(order)]
        if not free:
            circle = [name for name in entries if name in deferred - set(order)]
            what = f"tasks wait for each other in a circle: {', '.join(circle)}"
            raise reader.error(entries[circle[0]].line, what, "remove one of these dependencies")
        order += free
    return order
