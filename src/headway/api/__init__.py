"""What a user can do with Headway: one function per verb of the command line.

Each function takes typed settings and returns a frozen struct that holds everything the command line prints; the
struct's `document()` is the command's `--json`. No function prints, reads `sys.argv` or exits; progress and warnings go
to observers that the caller passes. Users call them as `headway.start`, `headway.replay` and so on. A function's module
is imported when it is first used, so that `import headway` and `headway --help` stay fast.
"""

from __future__ import annotations

# The public functions and the modules of this package that hold them.
FUNCTIONS = {
    "advise": "advise",
    "bundle": "bundle",
    "cancel": "cancel",
    "check_inputs": "check_inputs",
    "clean": "clean",
    "compare": "compare",
    "convert": "convert",
    "cwl": "cwl",
    "detach": "detach",
    "docs": "docs",
    "doctor": "doctor",
    "execute": "exec",
    "explain_agents": "history",
    "export": "export",
    "export_history": "history",
    "follow": "follow",
    "generate": "generate",
    "init": "init",
    "logs": "logs",
    "nextflow": "nextflow",
    "plan": "plan",
    "policies": "policies",
    "preview": "preview",
    "prune_history": "history",
    "quote": "quote",
    "receive": "receive",
    "replay": "replay",
    "resume": "resume",
    "runs": "runs",
    "service": "service",
    "show": "show",
    "show_history": "history",
    "simulate": "simulate",
    "start": "start",
    "status": "status",
    "stop_service": "service",
    "usage": "usage",
    "waits": "waits",
    "why": "why",
    "write_report": "report",
}
