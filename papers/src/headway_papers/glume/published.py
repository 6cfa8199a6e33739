"""The thesis's figures: Table 7.1, and what its text says about pictures without data."""

from __future__ import annotations

from headway_papers.glume.goal import Cell

# Table 7.1: configurations for which GLUME beats Zhang, and for which Zhang beats GLUME, of 12.
TABLE_7_1: dict[Cell, tuple[int, int]] = {
    Cell("KTH", "accurate", "short"): (3, 1),
    Cell("KTH", "accurate", "medium"): (5, 0),
    Cell("KTH", "accurate", "long"): (2, 0),
    Cell("KTH", "real", "short"): (5, 2),
    Cell("KTH", "real", "medium"): (6, 0),
    Cell("KTH", "real", "long"): (2, 0),
    Cell("SDSC", "accurate", "short"): (0, 6),
    Cell("SDSC", "accurate", "medium"): (7, 0),
    Cell("SDSC", "accurate", "long"): (4, 0),
    Cell("SDSC", "real", "short"): (0, 12),
    Cell("SDSC", "real", "medium"): (0, 10),
    Cell("SDSC", "real", "long"): (4, 0),
}
CONFIGURATIONS = 12

# §5.2, KTH: how often Zhang's algorithm falls back to a simple one, by cap.
PER_TASK_AT_128 = 0.2379
ONE_JOB_AT_16 = 0.4832
# Where it does not, the share of cases in which it beats the simple one (below 30% against one-job-per-task).
NOT_PER_TASK_AT_128_BETTER = 0.30
NOT_ONE_JOB_AT_16_BETTER = 0.5253
# Figures 5.2 and 5.3, KTH: configurations of 12 in which a plan is better than, or similar to, Zhang's.
BETTER_THAN_ZHANG = {
    (128, "one-job-per-task"): 9,
    (128, "one-job"): 6,
    (128, "level-by-level"): 2,
    (16, "one-job"): 9,
    (16, "one-job-per-task"): 3,
}
# §5.3: executions that Enhancement 2 improves, of how many, and by how much then.
ENHANCEMENT_2 = {
    ("SDSC", "short"): (88, 1068, 0.0357),
    ("KTH", "long"): (222, 822, 0.0652),
    ("SDSC", "long"): (425, 819, 0.0536),
}
