"""Command lines of other tools: `headway TOOL [OPTIONS] [OPTIONS OF SERVICE] -- WORDS OF THE TOOL`."""

from __future__ import annotations

import click


class ToolCommand(click.Command):
    """A verb that starts another tool; its function gets the options of the service as `options`, and the `words`."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "WORDS..."]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take our own options; leave those that are not known to the service."""
        if "--" not in args and args and not args[0].startswith("-"):
            args = ["--", *args]
        at = args.index("--") if "--" in args else len(args)
        before, words = args[:at], args[at + 1 :]
        ctx.ignore_unknown_options = ctx.allow_extra_args = True
        super().parse_args(ctx, before)
        if not words:
            raise click.UsageError(f"what is {self.name} to run? Write `headway {self.name} -- ...`", ctx)
        ctx.params |= {"options": list(ctx.args), "words": words}
        ctx.args = []
        return []
