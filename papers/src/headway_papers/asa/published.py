"""Tables 1 and 2 of Souza et al. 2020, as printed."""

from __future__ import annotations

from msgspec import Struct

Cell = tuple[str, int]  # workflow and cores

MONTAGE, BLAST, STATISTICS = "Montage", "BLAST", "Statistics"
WORKFLOWS = (MONTAGE, BLAST, STATISTICS)
BIG_JOB, PER_STAGE, ASA = "big-job", "per-stage", "asa"
STRATEGIES = (BIG_JOB, PER_STAGE, ASA)


class Measured(Struct, frozen=True):
    """A run of Table 1. For ASA the wait is the perceived one (§4.1)."""

    wait_s: float
    makespan_s: float
    core_hours: float

    @property
    def run_s(self) -> float:
        """How long its stages took."""
        return self.makespan_s - self.wait_s


def _row(*figures: float) -> dict[str, Measured]:
    return {name: Measured(*figures[3 * at : 3 * at + 3]) for at, name in enumerate(STRATEGIES)}


TABLE_1: dict[Cell, dict[str, Measured]] = {
    (MONTAGE, 28): _row(150, 1287, 9, 258, 1408, 7, 132, 1277, 7),
    (MONTAGE, 56): _row(206, 1261, 16, 426, 1496, 12, 219, 1280, 12),
    (MONTAGE, 112): _row(452, 1513, 33, 699, 1779, 20, 393, 1464, 20),
    (MONTAGE, 160): _row(1415, 2718, 58, 2220, 3507, 40, 1652, 2921, 39),
    (MONTAGE, 320): _row(8135, 10126, 177, 15582, 17170, 106, 10062, 11637, 105),
    (MONTAGE, 640): _row(10200, 11940, 309, 16600, 18200, 171, 11851, 13436, 169),
    (BLAST, 28): _row(70, 2750, 20, 68, 2727, 20, 75, 2749, 20),
    (BLAST, 56): _row(133, 1476, 20, 153, 1508, 21, 111, 1477, 21),
    (BLAST, 112): _row(165, 926, 23, 194, 965, 24, 144, 907, 23),
    (BLAST, 160): _row(7100, 7846, 33, 7125, 7880, 33, 7041, 7800, 33),
    (BLAST, 320): _row(8133, 8494, 32, 8240, 8611, 33, 8194, 8557, 32),
    (BLAST, 640): _row(10133, 10394, 46, 10150, 10429, 47, 10144, 10419, 48),
    (STATISTICS, 28): _row(52, 5593, 43, 48, 5487, 42, 51, 5549, 43),
    (STATISTICS, 56): _row(96, 4397, 66, 263, 4644, 34, 116, 4444, 33),
    (STATISTICS, 112): _row(124, 4110, 124, 191, 4193, 62, 70, 4085, 62),
    (STATISTICS, 160): _row(2772, 7095, 192, 4960, 9241, 95, 2712, 6986, 95),
    (STATISTICS, 320): _row(7935, 11886, 351, 18008, 21993, 177, 7471, 11439, 176),
    (STATISTICS, 640): _row(10122, 13868, 665, 21014, 24817, 338, 9497, 13369, 344),
}


class Predicted(Struct, frozen=True):
    """A line of Table 2, without its spreads."""

    real_h: float
    said_h: float
    perceived_h: float
    hit: float
    overhead_core_hours: float


TABLE_2: dict[Cell, Predicted] = {
    (MONTAGE, 28): Predicted(0.4, 0.7, 0.5, 0.60, 1.7),
    (MONTAGE, 56): Predicted(1.1, 1.2, 0.4, 0.68, 3.0),
    (MONTAGE, 112): Predicted(1.5, 2.0, 0.5, 0.87, 2.0),
    (MONTAGE, 160): Predicted(11, 3.9, 0.7, 1.0, 0),
    (MONTAGE, 320): Predicted(15, 12, 0.2, 1.0, 0),
    (MONTAGE, 640): Predicted(17, 12, 0.3, 1.0, 0),
    (BLAST, 28): Predicted(0.4, 1.0, 0.6, 0.70, 8),
    (BLAST, 56): Predicted(1.1, 1.3, 0.7, 0.71, 11),
    (BLAST, 112): Predicted(1.5, 1.0, 0.6, 0.89, 3),
    (BLAST, 160): Predicted(11, 4.5, 0.7, 1.0, 0),
    (BLAST, 320): Predicted(15, 11, 0.2, 1.0, 0),
    (BLAST, 640): Predicted(16, 11, 0.3, 1.0, 0),
    (STATISTICS, 28): Predicted(0.4, 0.5, 0.4, 0.67, 3),
    (STATISTICS, 56): Predicted(1.1, 1.2, 0.4, 0.69, 6),
    (STATISTICS, 112): Predicted(1.5, 2.0, 0.5, 0.87, 5),
    (STATISTICS, 160): Predicted(11, 5.2, 0.6, 1.0, 0),
    (STATISTICS, 320): Predicted(14, 11, 0.2, 1.0, 0),
    (STATISTICS, 640): Predicted(16, 12, 0.3, 1.0, 0),
}
