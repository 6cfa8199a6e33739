"""Which tests need more than Python and a few seconds: markers for whole folders and files.

`make check` leaves these files out without importing them, so that it needs neither their programs nor their packages.
Single tests are marked where they stand.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARKS: dict[str, tuple[str, ...]] = {
    "slurm": ("tests/slurm",),
    "browser": ("tests/dashboard/test_browser.py", "tests/report/run_page/test_page.py"),
    "tools": (
        "papers/tests/test_rl_nextflow.py",
        "tests/end_to_end/test_advice_for_tools.py",
        "tests/end_to_end/test_containers.py",
        "tests/end_to_end/test_gpus.py",
        "tests/examples/test_cwl.py",
        "tests/history/test_postgres.py",
        "tests/history/test_postgres_runs.py",
        "tests/history/test_postgres_shared.py",
        "tests/integrations/nextflow",
        "tests/integrations/test_cwl.py",
        "tests/integrations/test_dask.py",
        "tests/integrations/test_parsl.py",
        "tests/integrations/test_snakemake.py",
        "tests/workers/test_gpus.py",
        "tests/workers/test_pool.py",
        "tests/workers/test_pool_keys.py",
        "tests/workers/test_pool_loss.py",
    ),
    "slow": (
        "papers/tests/test_asa.py",
        "papers/tests/test_bucketing.py",
        "papers/tests/test_feedback.py",
        "papers/tests/test_fixed_pool.py",
        "papers/tests/test_glume.py",
        "papers/tests/test_reproduce.py",
        "papers/tests/test_rl.py",
        "papers/tests/test_rl_real.py",
        "tests/api/test_export.py",
        "tests/api/test_hosting.py",
        "tests/api/test_python_docs.py",
        "tests/api/test_same_answers.py",
        "tests/chaos",
        "tests/cli/test_attach.py",
        "tests/cli/test_bundle.py",
        "tests/cli/test_compare.py",
        "tests/cli/test_detach.py",
        "tests/cli/test_exit_codes.py",
        "tests/cli/test_interrupts.py",
        "tests/cli/test_interrupts_at_start_up.py",
        "tests/cli/test_plan.py",
        "tests/cli/test_queue_progress.py",
        "tests/cli/test_why_recomputes.py",
        "tests/dashboard",
        "tests/drivers/test_learned_state.py",
        "tests/docs/test_commands.py",
        "tests/docs/test_site.py",
        "tests/end_to_end",
        "tests/examples",
        "tests/formats/test_fuzz_workflow_files.py",
        "tests/formats/test_pipes.py",
        "tests/formats/test_real_instances.py",
        "tests/fuzz",
        "tests/grouping/test_laws.py",
        "tests/integrations",
        "tests/journal/test_damage.py",
        "tests/kernels/batch/test_plain_and_compiled.py",
        "tests/kernels/test_compiled.py",
        "tests/laws",
        "tests/mutants",
        "tests/plugins",
        "tests/security",
        "tests/serving",
        "tests/soak",
        "tests/studies/test_studies.py",
        "tests/terminal",
        "tests/test_forked.py",
        "tests/waiting/test_queue_trees.py",
        "tests/workers/test_trees_life.py",
        "tests/workers/test_trees_limits.py",
        "tests/workers/test_trees_measuring.py",
        "tests/world",
    ),
}
# In a marked folder, but without its needs.
UNMARKED = ("tests/slurm/test_cluster_parsing.py",)


@cache
def marks_of(path: Path) -> frozenset[str]:
    """Return the markers of all tests of a file."""
    if not path.is_relative_to(ROOT) or path.relative_to(ROOT).as_posix() in UNMARKED:
        return frozenset()
    within = {path.relative_to(ROOT).as_posix(), *(above.as_posix() for above in path.relative_to(ROOT).parents)}
    return frozenset(mark for mark, places in MARKS.items() if not within.isdisjoint(places))


def is_left_out(path: Path, expression: str) -> bool:
    """Return whether an expression such as `not slurm and not tools`, of pytest's option -m, excludes a whole file."""
    return path.suffix == ".py" and any(re.search(rf"\bnot {mark}\b", expression) for mark in marks_of(path))
