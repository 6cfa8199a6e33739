"""CyberShake: seismic hazard of a site in Southern California. 4 levels, almost all tasks in two wide ones.

Shape and figures: Bharathi et al., "Characterization of scientific workflows" (WORKS 2008), as in the Pegasus
WorkflowGenerator. Pairs are mean and standard deviation.
"""

from __future__ import annotations

from headway.generators.draft import Draft
from headway.generators.family import Family, nearest_split
from headway.model.instance import Instance

# seconds
EXTRACT_S = (137.45, 206.59)
SYNTHESIS_S = (43.40, 31.37)
PEAK_S = (1.09, 1.93)
ZIP_SEISMOGRAMS_BYTES_A_S = 228_180.52
ZIP_PEAKS_BYTES_A_S = 2_782.0

# bytes
STRAIN_GREEN_TENSOR = (19_958_666_972.0, 306_030_527.0)
PART_OF_TENSOR = (231_720_131.58, 164_565_041.0)
RUPTURE_VARIATION = (3_708_598.53, 3_187_576.0)
SEISMOGRAM = 24_000.0
PEAK_VALUES = 216.0
ZIPPED_TO = 1 / 6

_RUPTURES_A_TASK = 0.008  # 4 of 500
_FEWEST = 5


def make(name: str, tasks: int, seed: int) -> Instance:
    """ExtractSGT for each rupture; many SeismogramSynthesis for each; PeakValCalcOkaya for each of these; two zips."""
    draft = Draft(name, seed)
    tasks, ruptures = nearest_split(tasks, _FEWEST, lambda count: max(2, round(_RUPTURES_A_TASK * count)), _fits)
    tensors = [draft.file(f"f{axis}.sgt", *STRAIN_GREEN_TENSOR) for axis in "xy"]
    seismograms: list[str] = []
    for rupture, count in enumerate(draft.shares((tasks - 2 - ruptures) // 2, ruptures), start=1):
        variation = draft.file(f"variation_{rupture}.txt", *RUPTURE_VARIATION)
        parts = [draft.file(f"rupture_{rupture}_f{axis}.sgt", *PART_OF_TENSOR) for axis in "xy"]
        draft.task("ExtractSGT", draft.draw(*EXTRACT_S), [*tensors, variation], parts)
        for number in range(1, count + 1):
            seismogram = draft.file(f"seismogram_{rupture}_{number}.grm", SEISMOGRAM)
            draft.task("SeismogramSynthesis", draft.draw(*SYNTHESIS_S), [*parts, variation], [seismogram])
            seismograms.append(seismogram)
    peaks: list[str] = []
    for seismogram in seismograms:
        peaks.append(draft.file(seismogram.replace("seismogram", "peaks").replace(".grm", ".bsa"), PEAK_VALUES))
        draft.task("PeakValCalcOkaya", draft.draw(*PEAK_S), [seismogram], peaks[-1:])
    for category, files, rate in (
        ("ZipSeis", seismograms, ZIP_SEISMOGRAMS_BYTES_A_S),
        ("ZipPSA", peaks, ZIP_PEAKS_BYTES_A_S),
    ):
        size_bytes = draft.bytes_of(files)
        draft.task(category, size_bytes / rate, files, [draft.file(f"{category}.zip", size_bytes * ZIPPED_TO)])
    return draft.instance("CyberShake, made up after Bharathi et al. 2008")


def _fits(tasks: int, ruptures: int) -> bool:
    """Return whether each rupture gets at least one seismogram (two tasks) and no task is left."""
    left = tasks - 2 - ruptures
    return ruptures > 0 and left % 2 == 0 and left // 2 >= ruptures


FAMILY = Family("seismic hazard; 4 levels, two of them wide", _FEWEST, make)
