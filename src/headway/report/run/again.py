"""The command that does a run again, and the settings of a run in words: what all views of a run show."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from headway.model.records import REMOVED, ChosenSetting, RunStarted
from headway.model.units import exact_bytes
from headway.report.words import harmless

_FLAGS = ("keep-going", "again", "fresh", "quiet", "report", "requeue")  # options that are on or off
# Options about sizes, order and plans. Their values are written even if they are the defaults: those may differ
# elsewhere, by another settings file or another version.
_POLICIES = ("sizer", "order", "seed", "failures", "plan", "prefer", "budget")
_OF_JOBS = ("partition", "account", "qos", "constraint", "reservation", "clusters", "preemptible", "nodes", "lines")
_BY_VARIABLE = ("prefer_partitions", "avoid_partitions", "gpu_memory")  # settings of jobs without an option
_LONGEST = 120  # characters of a value in words
_SCALES = ("time", "memory", "bytes")


def again(settings: RunStarted) -> str:
    """Return the command that makes all of a run's results anew, for a shell in the workflow's directory.

    Nothing of it depends on environment variables or settings files: what they changed is in the command. A value that
    was removed as a secret becomes a variable that the shell asks for. The command is empty if there is none: the run
    had no workflow file of its directory, or a program gave it values that no option can give.

    >>> again(RunStarted(0.0, "1", "u", "w", "/d", "my flow.yaml", "1", "user", "fifo", tasks=("a b",), failures=0.5))
    "headway run --again --sizer=user --order=fifo --seed=0 --failures=0.5 --no-keep-going 'my flow.yaml' 'a b'"
    """
    file = settings.file or settings.source.rpartition("/")[2]
    sets = [each for each in settings.chosen if each.name == "set"]
    if not file or "/" in file or not all(_can_be_given(each, settings) for each in sets):
        return ""
    words = [*_variables(settings), "headway", "run", *_options(settings), *map(_set_words, sets)]
    names = [file, *settings.tasks]
    if any(name.startswith("-") for name in names):
        words.append("--")
    return " ".join([*words, *map(quoted, names)])


def _options(settings: RunStarted) -> Iterator[str]:
    forced = [each.value for each in settings.chosen if each.name == "force"] or settings.force
    if not forced:  # with --force, other results may stand
        yield "--again"
    values = {name: getattr(settings, name) for name in _POLICIES}
    yield from (_option(name, value) for name, value in values.items() if value not in ("", None))
    yield "--keep-going" if settings.keep_going else "--no-keep-going"
    if settings.fresh:
        yield "--fresh"
    yield from (_option(name.removesuffix("_bytes"), _amount(name, value)) for name, value in settings.stated.items())
    if settings.cluster == "pool":
        yield _option("pool", settings.batch["pool"])
    elif settings.cluster != "local":
        yield _option("on", settings.cluster)
        yield from (_option(name, settings.batch[name]) for name in _OF_JOBS if name in settings.batch)
        if "requeue" in settings.batch:
            yield "--requeue" if settings.batch["requeue"] == "true" else "--no-requeue"
        if "flags" in settings.batch:
            yield _option("sbatch", settings.batch["flags"])
    if settings.stand_ins:
        yield "--synthetic"
        scales = zip(_SCALES, settings.stand_ins, strict=False)
        yield from (_option(f"scale-{name}", f"{factor:.17g}") for name, factor in scales if factor != 1)
    yield from (_option("only", values) for values in settings.only)
    yield from (_option("until", task) for task in settings.until)
    yield from (_option("force", task) for task in forced)


def _option(name: str, value: object) -> str:
    return f"--{name}={quoted(str(value))}"


def _amount(resource: str, value: float) -> str:
    return exact_bytes(value) if resource.endswith("_bytes") else f"{value:.15g}"


def _variables(settings: RunStarted) -> Iterator[str]:
    if settings.cluster not in ("local", "pool"):
        for name in _BY_VARIABLE:
            if name in settings.batch:
                yield f"HEADWAY_{name.upper()}={quoted(settings.batch[name])}"


def _set_words(setting: ChosenSetting) -> str:
    """Return a `--set`; a secret becomes a variable without which the shell runs nothing."""
    name, _, value = setting.value.partition("=")
    if REMOVED in value:
        return f'--set {quoted(name)}="${{{name.upper()}:?set it to the value of {name}}}"'
    return f"--set {quoted(setting.value)}"


def _can_be_given(setting: ChosenSetting, settings: RunStarted) -> bool:
    """Whether the command line can give a list that a program gave: its values may have no commas."""
    name, _, text = setting.value.partition("=")
    used = settings.config.get(name, "")
    if setting.origin != "program" or isinstance(used, str):
        return True
    return len([part for part in text.split(",") if part.strip()]) == len(used)


def quoted(word: str) -> str:
    """Return a word for the shell, on one line and without characters that a terminal would not show.

    >>> quoted("it's"), quoted("two\\nlines")
    ('\\'it\\'"\\'"\\'s\\'', "$'two\\\\nlines'")
    """
    if word.isprintable() and harmless(word) == word:
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable() and harmless(character) == character:
        return character
    if character == "\n":
        return "\\n"
    data = character.encode("utf-8", errors="surrogateescape")
    return "".join(f"\\x{byte:02x}" for byte in data)


# --- settings in words ---


def chosen_words(settings: RunStarted) -> list[str]:
    """Return each setting that took effect besides defaults, as the user chose it: `--seed=7`, `HEADWAY_CORES=2`, …"""
    words = [setting_words(each) for each in settings.chosen]
    return [*words, *(["--synthetic"] if settings.stand_ins else [])]


def config_words(settings: RunStarted) -> list[str]:
    """Return the values of the workflow's `config` that the run used, as for `--set`."""
    values = settings.config.items()
    return [f"{name}={value if isinstance(value, str) else ','.join(value)}" for name, value in values]


def setting_words(setting: ChosenSetting) -> str:
    """Return a setting as the user chose it; a long value is cut.

    >>> setting_words(ChosenSetting("seed", "7", "file", "headway.toml"))
    'seed = 7 (headway.toml)'
    """
    name, value = setting.name, setting.value
    value = value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
    match setting.origin:
        case "environment":
            return f"{setting.place}={quoted(value)}"
        case "file":
            return f"{name} = {harmless(value)} ({setting.place})"
        case "program":
            return f"{name} = {harmless(value)} (by the program)"
    if name in _FLAGS:
        return f"--{name}" if value == "true" else f"--no-{name}"
    return f"--{name}{' ' if name == 'set' else '='}{quoted(value)}"
