"""SIPHT: the search for small RNAs in bacterial genomes. 5 levels; each genome is a workflow of its own.

Shape and figures: Bharathi et al., "Characterization of scientific workflows" (WORKS 2008), as in the Pegasus
WorkflowGenerator. Here the outputs of a task are one file, and so are the about 880 partner genomes of Blast; round
sizes are sums measured in files of that generator. Pairs are mean and standard deviation.
"""

from __future__ import annotations

from headway.generators.draft import Draft
from headway.generators.family import Family
from headway.model.instance import Instance

# by category: seconds, bytes written
FIGURES: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "Patser": ((1.27, 0.332), (91_780.15, 26_000.0)),
    "Patser_concate": ((0.08, 0.1), (0.0, 0.0)),  # writes what it reads
    "Transterm": ((55.78, 48.54), (440_409.25, 14_559.0)),
    "Findterm": ((1349.47, 797.0), (35_700_000.0, 2_600_000.0)),
    "RNAMotif": ((36.42, 8.84), (1_053_510.5, 91_713.0)),
    "Blast": ((2350.58, 1016.78), (5_270_722.25, 3_443_485.0)),
    "SRNA": ((361.33, 342.71), (5_960_000.0, 540_000.0)),
    "FFN_Parse": ((1.64, 0.245), (802_506.75, 134_396.0)),
    "Blast_candidate": ((5.18, 0.995), (20_000.0, 130.0)),
    "Blast_QRNA": ((1412.09, 98.5), (4_020_000.0, 530_000.0)),
    "Blast_paralogues": ((4.99, 1.149), (690_731.5, 602_251.0)),
    "Blast_synteny": ((33.0, 0.0), (1_146_801.25, 667_524.0)),
    "SRNA_annotate": ((1.68, 0.96), (1_290_000.0, 180_000.0)),
}
GENOME = 4_700_000.0
MATRIX = 170_917.0
PARTNER_GENOMES = 252_000_000.0
KNOWN_RNAS = 1_028_403.0

_TASKS_A_GENOME = 30
_OTHERS = len(FIGURES) - 1  # tasks of a genome that are no Patser
_FEWEST = _OTHERS + 1


def make(name: str, tasks: int, seed: int) -> Instance:
    """For each genome: many Patser and their concatenation; four searches and the prediction (SRNA) from them; four
    comparisons and a parse of it; all annotated."""
    draft = Draft(name, seed)
    genomes = max(1, round(tasks / _TASKS_A_GENOME))
    matrix = draft.file("matrix", MATRIX)
    partners = draft.file("partner_genomes", PARTNER_GENOMES)
    known = draft.file("known_sRNAs", KNOWN_RNAS)
    for number, patsers in enumerate(draft.shares(tasks - _OTHERS * genomes, genomes), start=1):
        _genome(draft, number, patsers, (matrix, partners, known))
    return draft.instance("SIPHT, made up after Bharathi et al. 2008")


def _genome(draft: Draft, number: int, patsers: int, shared: tuple[str, str, str]) -> None:
    matrix, partners, known = shared

    def step(category: str, inputs: list[str], part: str = "") -> str:
        seconds, written = FIGURES[category]
        if not written[0]:
            written = (float(draft.bytes_of(inputs)), 0.0)
        output = draft.file(f"{category}_{number}{part}.out", *written)
        draft.task(category, draft.draw(*seconds), inputs, [output])
        return output

    genome = draft.file(f"genome_{number}.fna", GENOME)
    sites = [step("Patser", [genome, matrix], f"_{part}") for part in range(1, patsers + 1)]
    concatenated = step("Patser_concate", sites)
    found = [step(category, [genome]) for category in ("Findterm", "RNAMotif", "Transterm")]
    predicted = step("SRNA", [*found, step("Blast", [genome, partners]), known])
    parsed = step("FFN_Parse", [predicted, genome])
    compared = [
        step("Blast_candidate", [predicted]),
        step("Blast_QRNA", [predicted, partners]),
        step("Blast_synteny", [predicted, parsed]),
        step("Blast_paralogues", [predicted]),
    ]
    step("SRNA_annotate", [concatenated, predicted, *compared])


FAMILY = Family("small RNAs in bacterial genomes; 5 levels in uneven bundles", _FEWEST, make)
