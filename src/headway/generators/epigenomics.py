"""Epigenomics, "Genome" in papers: mapping of DNA reads. 9 levels: lanes of parallel pipelines, merged twice.

Shape and figures: Bharathi et al., "Characterization of scientific workflows" (WORKS 2008), as in the Pegasus
WorkflowGenerator. Pairs are mean and standard deviation; run times follow from sizes and rates.
"""

from __future__ import annotations

from headway.generators.draft import Draft
from headway.generators.family import Family, nearest_split
from headway.model.instance import Instance

# bytes a second
SPLIT_RATE = (7_663_927.38, 2_375_099.0)
FILTER_RATE = (8_474_776.63, 5_002_153.0)
SANGER_RATE = (15_073_990.10, 3_556_068.0)
BFQ_RATE = (6_797_390.86, 1_110_361.0)
MAP_RATE = (369_551.55, 114_235.0)  # of the reference
MERGE_RATE = (2_267_233.18, 329_008.0)
INDEX_RATE = (17_679_204.35, 4_724_464.0)
PILEUP_RATE = (881_356.45, 94_639.0)  # of the reference

# bytes
READS = (351_024_865.91, 147_899_296.0)  # of a lane
REFERENCE = (1_700_000_000.0, 200_000_000.0)  # measured in files of that generator

# factors by which a step shrinks its data
SANGER_SHRINKS = (1.32, 0.316)
BFQ_SHRINKS = (4.24, 0.4)
MAP_SHRINKS = 0.92
MERGE_SHRINKS = 1.06
INDEX_SHRINKS = (64.25, 25.4)
PILEUP_GROWS = (5.0, 2.9)  # over the index: the mean and deviation of U(0, 10)

_TASKS_A_LANE = 4 * 6 + 2  # of six chunks
_FEWEST = 15


def make(name: str, tasks: int, seed: int) -> Instance:
    """Each lane is split into chunks, each chunk filtered, converted twice and mapped; the maps are merged in each
    lane and over all lanes, indexed and piled up."""
    draft = Draft(name, seed)
    tasks, lanes = nearest_split(tasks, _FEWEST, lambda count: max(2, round((count - 3) / _TASKS_A_LANE)), _fits)
    reference = draft.file("reference.bfa", *REFERENCE)
    reference_bytes = draft.file_bytes[reference]
    chunks = (tasks - 3 - 2 * lanes) // 4
    merged = []
    for lane, count in enumerate(draft.shares(chunks, lanes), start=1):
        reads = draft.file(f"lane_{lane}.sfq", *READS)
        reads_bytes = draft.file_bytes[reads]
        parts = [draft.file(f"lane_{lane}_{chunk}.sfq", reads_bytes / count) for chunk in range(1, count + 1)]
        draft.task("fastqSplit", reads_bytes / draft.draw(*SPLIT_RATE), [reads], parts)
        maps = [_map_chunk(draft, part, reference) for part in parts]
        merged.append(_merge(draft, maps, f"lane_{lane}.map"))
    whole = _merge(draft, merged, "all.map")
    whole_bytes = draft.file_bytes[whole]
    index = draft.file("all.index", whole_bytes / draft.draw(*INDEX_SHRINKS))
    draft.task("maqIndex", whole_bytes / draft.draw(*INDEX_RATE), [whole], [index])
    pileup = draft.file("all.pileup", draft.file_bytes[index] * draft.draw(*PILEUP_GROWS))
    draft.task("pileup", reference_bytes / draft.draw(*PILEUP_RATE), [index, reference], [pileup])
    return draft.instance("Epigenomics, made up after Bharathi et al. 2008")


def _map_chunk(draft: Draft, part: str, reference: str) -> str:
    """Add the four steps from a chunk of reads to its map."""
    stem = part.removesuffix(".sfq")
    size_bytes = draft.file_bytes[part]
    clean, contaminated = (draft.file(f"{stem}.{kind}", size_bytes / 2) for kind in ("clean", "contaminated"))
    draft.task("filterContams", size_bytes / draft.draw(*FILTER_RATE), [part], [clean, contaminated])
    size_bytes = draft.file_bytes[clean]
    sanger = draft.file(f"{stem}.sanger", size_bytes / draft.draw(*SANGER_SHRINKS))
    draft.task("sol2sanger", size_bytes / draft.draw(*SANGER_RATE), [clean], [sanger])
    size_bytes = draft.file_bytes[sanger]
    bfq = draft.file(f"{stem}.bfq", size_bytes / draft.draw(*BFQ_SHRINKS))
    draft.task("fastq2bfq", size_bytes / draft.draw(*BFQ_RATE), [sanger], [bfq])
    mapped = draft.file(f"{stem}.map", draft.file_bytes[bfq] / MAP_SHRINKS)
    draft.task("map", draft.file_bytes[reference] / draft.draw(*MAP_RATE), [bfq, reference], [mapped])
    return mapped


def _merge(draft: Draft, maps: list[str], path: str) -> str:
    size_bytes = draft.bytes_of(maps)
    merged = draft.file(path, size_bytes / MERGE_SHRINKS)
    draft.task("mapMerge", size_bytes / draft.draw(*MERGE_RATE), maps, [merged])
    return merged


def _fits(tasks: int, lanes: int) -> bool:
    """Return whether each lane gets at least one chunk (four tasks) and no task is left."""
    left = tasks - 3 - 2 * lanes
    return lanes > 1 and left % 4 == 0 and left // 4 >= lanes


FAMILY = Family("DNA reads mapped in pipelines; 9 levels", _FEWEST, make, aliases=("genome",))
