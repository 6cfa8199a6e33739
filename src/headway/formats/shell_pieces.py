"""The pieces of a shell command in which braces may be Headway's, and not those of a program that the command runs.

This is no shell: it knows quotes, comments, here-documents, pipes and where a simple command begins and ends. What it
cannot tell apart it leaves out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from msgspec import Struct, field

# Programs whose text in quotes is a program or a template with braces of its own.
_LANGUAGES = (
    r"[gmn]?awk|busybox|g?sed|rg|(?:go)?jq|jaq|yq|mlr|gnuplot|sqlite3|psql|duckdb|mongosh?|tclsh|expect|dot|m4|ed|vim"
)
# Interpreters: only the text after a flag such as `-c` or `-e` is a program, other words are arguments of a script.
_INTERPRETERS = r"perl|i?python|pypy|ruby|R|Rscript|julia|node|deno|bun|lua|luajit|php|groovy|scala|octave|matlab|ghc"
# Programs with names in braces of their own, also without quotes: `cutadapt -o {name}.fq`, `parallel … {sample}`.
_TEMPLATES = r"parallel|sem|xargs|rush|gargs|fd|fdfind|hyperfine|cutadapt|seqkit|snakemake|nextflow|datalad|tmux|rename"
_NAME = r"(?<![\w.-])(?:{})[\d.]*(?![\w.-])"
_ANY = f"{_LANGUAGES}|{_INTERPRETERS}|{_TEMPLATES}"
_ANY_PROGRAM = re.compile(_NAME.format(_ANY))
# In a word the name is a program's only at the end, as in `/usr/bin/awk` or `$AWK`: `nextflow/{sample}.txt` is a file.
_LANGUAGE, _INTERPRETER, _TEMPLATE, _ANY_COMMAND = (
    re.compile(_NAME.format(names) + r"\}?$") for names in (_LANGUAGES, _INTERPRETERS, _TEMPLATES, _ANY)
)
_PROGRAM_FLAG = re.compile(r"-\w*[ceEpr]|-batch|--eval\w*|--execute")
# Signs of a program or a template in quotes, whichever program reads it.
_PROGRAM_TEXT = re.compile(
    r"""\b[fF][rR]?["']|\.format|\b(?:BEGIN|END)\b|\{\s*(?:print|return|next|exit)|\$\d|\$NF|\bfunction\b|\blambda\b"""
    r"""|\bimport\b|=>|<-|\\(?:begin|end)\b|\{\{|[%#]\{"""
)
_PRINTERS = ("echo", "printf")

_TOKEN = re.compile(
    r"(?P<skip>\\.|(?<![^\s;&|()])\#[^\n]*|<<<|[<>]&|&>|>\|)"
    r"|<<-?[ \t]*(?P<here>[\\\w]+|'[^'\n]+'|\"[^\"\n]+\")"
    r"|(?P<quoted>'[^']*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<open>\()|(?P<close>\))|(?P<tick>`)|(?P<end>\|\||[;&\n])|(?P<pipe>\|)"
    r"|(?P<word>[^\s'\"`;&|()\\<>]+)"
    r"|(?P<unclosed>['\"])"
    r"|.",
    re.DOTALL,
)


class _Pipe(Struct):
    """Whether one of the commands of a pipe is a program that may read a program from its standard input."""

    reads_programs: bool = False


class _Command(Struct):
    """A simple command: what its words without quotes say about its braces."""

    pipe: _Pipe = field(default_factory=_Pipe)
    first: str = ""
    is_language: bool = False
    is_interpreter: bool = False
    has_program_flag: bool = False
    has_templates: bool = False

    def add(self, word: str) -> None:
        """Add a word."""
        self.first = self.first or word
        self.has_program_flag |= bool(_PROGRAM_FLAG.fullmatch(word))
        word = word.lower() if word.startswith("$") else word  # `$AWK`
        if not _ANY_COMMAND.search(word):
            return
        self.is_language |= bool(_LANGUAGE.search(word))
        self.is_interpreter |= bool(_INTERPRETER.search(word))
        self.has_templates |= bool(_TEMPLATE.search(word))
        self.pipe.reads_programs |= self.is_language or self.is_interpreter

    def has_program_in_quotes(self) -> bool:
        """Whether this command has a program in quotes, or prints one for another command."""
        printed = self.first in _PRINTERS and self.pipe.reads_programs
        return self.is_language or (self.is_interpreter and self.has_program_flag) or printed


def ordinary_pieces(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield start, end and whether it is quoted, for each piece of a command whose braces are not a program's own.

    >>> command = "awk '{print $1}' {sample}.txt | parallel echo {part} # {note}"
    >>> [command[start:end] for start, end, quoted in ordinary_pieces(command)]
    ['awk', '{sample}.txt']
    """
    for start, end, quoted, command in _pieces(text):
        in_program = quoted and (
            command.has_program_in_quotes()
            or _PROGRAM_TEXT.search(text, start, end)
            or _ANY_PROGRAM.search(text, start, end)
        )
        if not in_program and not command.has_templates:
            yield start, end, quoted


def _pieces(text: str) -> list[tuple[int, int, bool, _Command]]:
    """Return all words and quoted texts with their commands; nothing if a quote is not closed."""
    found: list[tuple[int, int, bool, _Command]] = []
    command, outside, position, in_ticks = _Command(), list[_Command](), 0, False
    lines = _Lines(text)
    while token := _TOKEN.match(text, position):
        position = token.end()
        kind = token.lastgroup
        if kind == "tick":
            in_ticks = not in_ticks
            kind = "open" if in_ticks else "close"
        match kind:
            case "unclosed":
                return []
            case "quoted" | "word":
                found.append((token.start(), position, kind == "quoted", command))
                if kind == "word":
                    command.add(token[0])
            case "here":
                lines.documents.append(token["here"].strip("'\"\\"))
            case "open":
                outside.append(command)
                command = _Command()
            case "close":
                command = outside.pop() if outside else _Command()
            case "pipe":
                command = _Command(command.pipe)
            case "end":
                command = _Command()
                position = lines.after_documents(position) if token[0] == "\n" else position
    return found


class _Lines:
    """Finds the ends of here-documents, of which several may begin on one line."""

    def __init__(self, text: str) -> None:
        self.documents: list[str] = []  # the marks that end those that begin on this line
        self._text = text
        self._starts: dict[str, list[int]] = {}

    def after_documents(self, position: int) -> int:
        """The end of the last document that begins at `position`; without an end, that of the text."""
        for mark in self.documents:
            if not self._starts:
                start = 0
                for line in self._text.split("\n"):
                    self._starts.setdefault(line.strip(), []).append(start)
                    start += len(line) + 1
            ends = self._starts.get(mark, [])
            index = bisect_left(ends, position)
            position = ends[index] + len(mark) if index < len(ends) else len(self._text)
        self.documents.clear()
        return position
