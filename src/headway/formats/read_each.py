"""The key `each` in a workflow file: lists, ranges, rows, a sample sheet, or the names of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path
from posixpath import normpath

from msgspec import structs

from headway.formats.config import Config
from headway.formats.each import Each, Factor, Row, single
from headway.formats.fields import WORD, Reader, describe, has_control_character, short
from headway.formats.safe_yaml import Entry, Listing, Mapping, Text, shown
from headway.formats.sheets import (
    MAX_BYTES,
    MAX_ROWS,
    WILDCARD,
    Sheet,
    found_files,
    known_column,
    name_pattern,
    parse_sheet,
    read_condition,
)
from headway.formats.unpacked import read_unpacked
from headway.model.errors import InputError
from headway.model.workflow import Workflow

_EXAMPLE = "write for example {part: [aa, ab]}, {part: 1..10}, [{left: a, right: b}] or samples.csv"
_SOURCES = ("sheet", "files")
_OPTIONS = ("where", "default", "id", "from")  # of a source
SAMPLES = "samples"  # the key beside `tasks`, and the word in `each` that stands for it
_SHEET_NAME = re.compile(r".*\.(?:csv|tsv)(?:\.gz)?", re.IGNORECASE)
_RANGE = re.compile(r"(-?\d{1,18})\.\.(-?\d{1,18})(?:\.\.-?(\d{1,18}))?")


class EachReader:
    """Reads the keys `each` of one workflow file; sheets and files are looked up in `directory`.

    `samples` is the entry of that name beside `tasks`. `is_stray` says of a path whether a run here made it: such a
    file is no source of tasks. While the run goes on, tasks have made the files that `from` speaks of, and there may
    be none (`growing`).
    """

    def __init__(
        self,
        reader: Reader,
        config: Config,
        directory: Path,
        samples: Entry | None = None,
        is_stray: Callable[[str], bool] = lambda path: False,
        *,
        growing: bool = False,
    ) -> None:
        self.reader = reader
        self.config = config
        self.directory = directory
        self.none = Each((), config.texts)  # for a task without `each`
        self.samples = samples
        self.is_stray = is_stray
        self.temporary: Collection[str] = ()  # files that may be gone, and count
        self.growing = growing
        self.field = ""  # describes the `each` that is being read, in errors
        # Sheets by their names, and names of files by their patterns: several tasks may read the same.
        self.sheets: dict[str, Sheet] = {}
        self.patterns: dict[str, tuple[int, str]] = {}  # of `files`, with line and field

    def read(self, entry: Entry, owner: str) -> Each:
        """`{left: [a, b], right: 1..3}` gives all combinations; rows, a sheet or files give one task for each row."""
        self.field = f"'each' of {owner}"
        if self.is_samples(entry) and self.samples is not None:
            self.field = f"'{SAMPLES}'"
            sheet, label = self.sample_rows(self.samples)
            return self.each([sheet.factor(label)])
        value = entry.value
        if isinstance(value, Listing):
            return self.each([self.rows(value)])
        if isinstance(value, Text):
            text = self.config.filled(value.text)
            if WILDCARD.search(text):
                return self.each([self.source("files", entry, {})])
            if _SHEET_NAME.fullmatch(text):
                return self.each([self.source("sheet", entry, {})])
        if not isinstance(value, Mapping):
            raise self.reader.error(entry.line, f"{self.field} is {describe(value)}, not a mapping", _EXAMPLE)
        if not value.entries:
            raise self.reader.error(entry.line, f"{self.field} is empty", _EXAMPLE)
        return self.each(self.mapping(value.entries))

    def is_samples(self, entry: Entry) -> bool:
        """Whether a value is the word that stands for the workflow's samples."""
        return self.samples is not None and isinstance(entry.value, Text) and entry.value.text == SAMPLES

    def trigger(self, entry: Entry) -> Text | None:
        """The task whose files or rows an `each` waits for, if it has `from`."""
        if self.is_samples(entry) and self.samples is not None:
            entry = self.samples
        if not isinstance(entry.value, Mapping):
            return None
        entries = entry.value.entries
        if not any(key in entries for key in _SOURCES):
            return None
        if "from" in entries and not self.has_values(entries["from"]):
            return self.reader.value(entries["from"], "'from' in 'each'")
        return self.trigger(entries["sheet"]) if "sheet" in entries else None

    def made_source(self, entry: Entry) -> Text | None:
        """The sheet, or the names of files, that another task makes and of which an `each` makes tasks."""
        if self.is_samples(entry) and self.samples is not None:
            entry = self.samples
        entries = entry.value.entries if isinstance(entry.value, Mapping) else {}
        source = next((entries[key] for key in _SOURCES if key in entries), None)
        if source is None or not isinstance(source.value, Text):
            return None
        if self.is_samples(source):
            return self.made_source(source)
        return structs.replace(source.value, text=self.config.filled(source.value.text))

    def words(self, entry: Entry) -> str:
        """What the tasks of an `each` are made for, for people: `each file parts/{part}.txt`."""
        if self.is_samples(entry) and self.samples is not None:
            entry = self.samples
        entries = entry.value.entries if isinstance(entry.value, Mapping) else {}
        for key, kind in (("files", "each file"), ("sheet", "each row of")):
            if key in entries and isinstance(value := entries[key].value, Text):
                return self.words(entries[key]) if self.is_samples(entries[key]) else f"{kind} {value.text}"
        return "each row"

    def expanded(self, text: Text, each: Each) -> list[str]:
        """The texts that an item of a list stands for: one for each value of a list in `config` that it names."""
        try:
            return self.config.expanded(text.text, each.names)
        except InputError as problem:
            raise self.reader.error(text.line, problem.what, problem.todo) from None

    def each(self, factors: list[Factor]) -> Each:
        return Each(factors, self.config.texts)

    def mapping(self, entries: dict[str, Entry]) -> list[Factor]:
        """The factors in the order of the keys. A key whose value is a list or a range is a name, whatever it is."""
        keywords = {key: entry for key, entry in entries.items() if not self.has_values(entry)}
        sources = [key for key in _SOURCES if key in keywords]
        if len(sources) > 1:
            raise self.reader.error(keywords["files"].line, f"{self.field} has both 'sheet' and 'files'", "remove one")
        options = {key: keywords[key] for key in _OPTIONS if key in keywords}
        if options and not sources:
            key, option = next(iter(options.items()))
            what = f"{key!r} in {self.field} is without a sheet"
            raise self.reader.error(option.line, what, "add 'sheet' or 'files', or list its values")
        factors = [
            self.source(key, entry, options) if key in sources else single(key, self.values(key, entry))
            for key, entry in entries.items()
            if key not in options
        ]
        names = [name for factor in factors for name in factor.names]
        for key, entry in entries.items():
            if names.count(key) > 1:
                todo = f"rename it, or the column of the {sources[0]}"
                raise self.reader.error(entry.line, f"{self.field} has the name {short(key)} twice", todo)
        return factors

    def has_values(self, entry: Entry) -> bool:
        value = entry.value
        if not isinstance(value, Text):
            return isinstance(value, Listing)
        return bool(_RANGE.fullmatch(value.text)) or _in_braces(value.text) in self.config.lists

    # --- values in the workflow file ---

    def rows(self, listing: Listing) -> Factor:
        if not listing.items:
            raise self.reader.error(listing.line, f"{self.field} is empty", _EXAMPLE)
        names: list[str] = []
        seen: dict[Row, None] = {}
        for item in listing.items:
            if not isinstance(item, Mapping) or not item.entries:
                what = f"a row of {self.field} is {describe(item)}, not names with values"
                raise self.reader.error(item.line, what, _EXAMPLE)
            names = names or [self.checked_name(name, value) for name, value in item.entries.items()]
            if item.entries.keys() != set(names):
                todo = f"give every row {', '.join(names)} and nothing else"
                raise self.reader.error(item.line, f"a row of {self.field} has other names than the first", todo)
            cells = (self.reader.text(item.entries[name], f"{short(name)} in {self.field}") for name in names)
            row = tuple(self.checked_value(cell, self.field) for cell in cells)
            if row in seen:
                what = f"{self.field} has the row {short(', '.join(row))} twice"
                raise self.reader.error(item.line, what, "remove one")
            seen[row] = None
        return Factor(tuple(names), list(seen), [",".join(row) for row in seen])

    def values(self, name: str, entry: Entry) -> list[str]:
        what = f"{short(self.checked_name(name, entry))} in {self.field}"
        if isinstance(entry.value, Text):
            texts = [Text(text, entry.line, quoted=False) for text in self.range_or_list(name, entry.value, what)]
        elif isinstance(entry.value, Listing):
            texts = self.reader.texts(entry, what)
        else:
            todo = f"write for example {{{name}: [aa, ab]}}"
            raise self.reader.error(entry.line, f"{what} is {describe(entry.value)}, not a list", todo)
        if not texts:
            raise self.reader.error(entry.line, f"{what} has no values", "list at least one")
        seen: dict[str, None] = {}
        for text in texts:
            value = self.checked_value(text, what)
            if value in seen:
                raise self.reader.error(text.line, f"{what} has the value {short(value)} twice", "remove one")
            seen[value] = None
        return list(seen)

    def range_or_list(self, name: str, value: Text, what: str) -> list[str]:
        """A range as in bash (1..10, 01..10, 1..10..3), or a list in `config`."""
        if _in_braces(value.text) in self.config.lists:
            return self.config.lists[_in_braces(value.text)]
        text = self.config.filled(value.text)
        match = _RANGE.fullmatch(text)
        if match is None:
            todo = f"write for example {{{name}: [aa, ab]}} or {{{name}: 1..10}}"
            raise self.reader.error(value.line, f"{what} is {describe(value)}, not a list or a range", todo)
        first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
        if not step:
            raise self.reader.error(value.line, f"{what} is {short(text)}, with a step of 0", "write 1 or more")
        numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        if len(numbers) > MAX_ROWS:
            raise self.reader.error(value.line, f"{what} has more than {MAX_ROWS:,} values", "use fewer values")
        padded = any(re.match(r"-?0\d", end) for end in match.groups()[:2])
        width = max(len(match[1]), len(match[2])) if padded else 0
        return [f"{number:0{width}d}" for number in numbers]

    def checked_name(self, name: str, entry: Entry) -> str:
        if not WORD.fullmatch(name):
            todo = "use letters, digits and '_', such as {part: [aa, ab]}"
            raise self.reader.error(entry.line, f"{short(name)} in {self.field} is not a word", todo)
        return name

    def checked_value(self, value: Text, what: str) -> str:
        text = self.config.filled(value.text)
        if has_control_character(text):
            raise self.reader.error(value.line, f"{what} has the value {short(text)}", "remove the control character")
        return text

    # --- values from outside ---

    def source(self, key: str, entry: Entry, options: dict[str, Entry]) -> Factor:
        """The rows of a sheet or of file names, as `where`, `default` and `id` say."""
        sheet, label = self.chosen_rows(key, entry, options)
        return sheet.factor(label)

    def chosen_rows(self, key: str, entry: Entry, options: dict[str, Entry]) -> tuple[Sheet, str | None]:
        """The rows that count, and the text that names them."""
        label: str | None = None
        if key == "sheet" and self.is_samples(entry) and self.samples is not None:
            sheet, label = self.sample_rows(self.samples)
        else:
            text = self.config.filled(self.reader.value(entry, f"{key!r} in {self.field}").text)
            may_be_empty = self.growing and "from" in options
            sheet = self.sheet(text, entry.line, may_be_empty) if key == "sheet" else self.files(text, entry, options)
        if self.growing and not sheet.rows:  # its columns may be unknown, and none of them matters
            return sheet, None
        if "default" in options:
            field = f"'default' in {self.field}"
            defaults = self.reader.mapping(options["default"], field, "{tissue: liver}")
            sheet = sheet.filled({name: self.cell(name, value, field) for name, value in defaults.items()})
        if "where" in options:
            field = f"'where' in {self.field}"
            for name, value in self.reader.mapping(options["where"], field, "{tissue: [liver, lung]}").items():
                known_column(self.reader, value.line, name, sheet, field)
                texts = [self.config.filled(text.text) for text in self.condition(value, f"{short(name)} in {field}")]
                sheet = sheet.where(name, read_condition(self.reader, value.line, texts, f"{short(name)} in {field}"))
                if not sheet.rows and not self.growing:
                    what = f"{field} leaves no row of {sheet.file}: none has {name} {' or '.join(texts)!r}"
                    raise self.reader.error(value.line, what, "correct it; values are compared as they are written")
        return sheet, self.label(options["id"], sheet) if "id" in options else label

    def sample_rows(self, entry: Entry) -> tuple[Sheet, str | None]:
        """The rows of the workflow's samples."""
        if isinstance(entry.value, Text):
            return self.chosen_rows("files" if WILDCARD.search(entry.value.text) else "sheet", entry, {})
        entries = self.reader.mapping(entry, f"'{SAMPLES}'", "{sheet: samples.csv}")
        sources = [key for key in _SOURCES if key in entries]
        options = {key: value for key, value in entries.items() if key in _OPTIONS}
        if len(sources) != 1 or len(options) + 1 != len(entries):
            what = f"'{SAMPLES}' is not one sheet, or the names of files, with 'where', 'default', 'id' and 'from'"
            raise self.reader.error(entry.line, what, "write for example {sheet: samples.csv}")
        return self.chosen_rows(sources[0], entries[sources[0]], options)

    def condition(self, entry: Entry, field: str) -> list[Text]:
        if isinstance(entry.value, Listing) and not entry.value.items:
            raise self.reader.error(entry.line, f"{field} lists no values", "list at least one")
        return [self.reader.text(entry, field)] if isinstance(entry.value, Text) else self.reader.texts(entry, field)

    def cell(self, name: str, entry: Entry, field: str) -> str:
        text = self.reader.text(entry, f"{short(self.checked_name(name, entry))} in {field}")
        return self.checked_value(text, field)

    def sheet(self, name: str, line: int, may_be_empty: bool = False) -> Sheet:
        if name not in self.sheets:
            path = self.directory / name
            try:
                data = read_unpacked(path, MAX_BYTES, "split the sheet")
            except InputError as problem:
                what = f"the sheet {short(name)} in {self.field} cannot be used: {problem.what}"
                raise self.reader.error(line, what, problem.todo) from None
            self.sheets[name] = parse_sheet(data, shown(path), may_be_empty=may_be_empty)
        return self.sheets[name]

    def files(self, pattern: str, entry: Entry, options: dict[str, Entry]) -> Sheet:
        line = entry.line
        if not WILDCARD.search(pattern):
            what = f"'files' in {self.field} is {short(pattern)}, without a name in braces"
            raise self.reader.error(line, what, "write for example 'reads/{sample}.fq'")
        if pattern not in self.sheets:
            made_by_task = "from" in options
            found = found_files(pattern, self.directory, self.is_stray, self.temporary)
            if not found.rows and not made_by_task:
                raise self.reader.error(line, *self.nothing_fits(pattern))
            if not made_by_task:
                self.patterns[pattern] = line, self.field
            self.sheets[pattern] = found
        return self.sheets[pattern]

    def nothing_fits(self, pattern: str) -> tuple[str, str]:
        """What is wrong with a pattern of files that fits none, or only orphans, and what to do."""
        what = f"no file fits {short(pattern)} in {self.field}"
        if not (left_out := len(found_files(pattern, self.directory).rows)):
            return what, f"check the names of the files in {shown(self.directory.absolute())}"
        fit, them = ("1 file that fits was", "it") if left_out == 1 else (f"{left_out:,} files that fit were", "them")
        what += f": {fit} made by earlier runs, and no workflow file here makes {them} now"
        todo = f"run the workflow file that makes {them}, also if it was renamed"
        return what, f"{todo}, or copy {them} to other names, which are your own files then"

    def label(self, entry: Entry, sheet: Sheet) -> str:
        field = f"'id' in {self.field}"
        text = self.reader.value(entry, field).text
        for name in WILDCARD.findall(text) or [text]:
            known_column(self.reader, entry.line, name, sheet, field)
        return text if WILDCARD.search(text) else f"{{{text}}}"

    def check_outputs(self, workflow: Workflow) -> None:
        """Raise an error if a task makes a file that `files` would find in the next run, as one task more."""
        for pattern, (line, field) in self.patterns.items():
            fits = name_pattern(normpath(pattern))
            for path, task_id in workflow.producer.items():
                if fits.fullmatch(path):
                    what = f"{short(path)}, which task {short(task_id)} makes, fits {short(pattern)} in {field}"
                    raise self.reader.error(line, what, "let the task write to another directory")


def _in_braces(text: str) -> str:
    """The name, if the text is just a name in braces."""
    return text[1:-1] if text[:1] + text[-1:] == "{}" else ""
