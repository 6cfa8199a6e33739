"""The page of all keys of a workflow file, from the JSON Schema that editors use."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import yaml

Schema = dict[str, Any]
_SKIPPED = {"examples", "description", "$ref"}


def page() -> str:
    """Return the page: the keys of the file, of a task, and of the parts of a task."""
    schema = json.loads(files("headway.formats").joinpath("workflow.schema.json").read_text(encoding="utf-8"))
    task = schema["$defs"]["task"]["properties"]
    lines = [
        "# The keys of the workflow file",
        "",
        "Every key, from the JSON Schema `workflow.schema.json` that is installed with Headway.",
        "[The workflow file](../workflow-file.md) explains them with examples, and says how an editor checks them.",
        "",
        "## Keys of the file",
        "",
        *_keys(schema["properties"], schema.get("required", ())),
        "## Keys of a task",
        "",
        "`run` is required; only tasks that a program wrote, with `category`, may leave it out.",
        "",
        *_keys(task, ("run",)),
    ]
    for name in ("each", "resources", "limit"):
        if parts := _parts(task[name]):
            lines += [f"## Keys of `{name}`", "", *_keys(parts, ())]
    return "\n".join(lines)


def _parts(schema: Schema) -> dict[str, Schema]:
    """Return the keys that a mapping may have, also where it is one of several forms."""
    forms = [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]
    return next((form["properties"] for form in forms if "properties" in form), {})


def _keys(properties: dict[str, Schema], required: tuple[str, ...] | list[str]) -> list[str]:
    lines = ["| key | meaning | examples |", "|---|---|---|"]
    for key, schema in properties.items():
        about = _cell(schema.get("description", "").rstrip("."))
        about = f"{about}. Required." if key in required else f"{about}."
        examples = "<br>".join(f"`{_yaml(each)}`" for each in schema.get("examples", ()))
        lines.append(f"| `{key}` | {about.lstrip('.').strip()} | {examples} |")
    return [*lines, ""]


def _yaml(value: object) -> str:
    """Return a value on one line, as one writes it in the file."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False)
    return _cell(text.removesuffix("\n").removesuffix("\n...").replace("\n", " "))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
