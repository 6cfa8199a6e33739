"""LIGO Inspiral: the search for gravitational waves of merging binaries. 6 levels in separate groups.

Shape and figures: Bharathi et al., "Characterization of scientific workflows" (WORKS 2008), as in the Pegasus
WorkflowGenerator. Pairs are mean and standard deviation.
"""

from __future__ import annotations

from headway.generators.draft import Draft
from headway.generators.family import Family, nearest_split
from headway.model.instance import Instance

# seconds
TEMPLATE_BANK_S = (18.14, 0.42)
INSPIRAL_S = (460.21, 545.0)
THINCA_S = (5.37, 0.24)
TRIGGER_BANK_S = (5.11, 0.32)

# bytes
FRAME = (15_595_958.08, 18_293.0)
FRAMES = 3
CALIBRATION = {"calibration_factors.gwf": 8_415_922, "calibration_reference.gwf": 902_334}
INJECTIONS = 2_421_423
TEMPLATES = (986_917.26, 18_948.0)
TRIGGERS = (312_935.68, 579_468.0)
COINCIDENCES = (33_820.71, 43_453.0)
TRIGGER_TEMPLATES = (12_779.67, 11_730.0)

_GROUPS_A_TASK = 0.025
_FEWEST = 6


def make(name: str, tasks: int, seed: int) -> Instance:
    """In each group: a TmpltBank and an Inspiral for each stretch of data, one Thinca for all of them, then a TrigBank
    and an Inspiral for each stretch, and a second Thinca."""
    draft = Draft(name, seed)
    tasks, groups = nearest_split(
        tasks, _FEWEST, lambda count: max(1, round(_GROUPS_A_TASK * count)), lambda count, _: count % 2 == 0
    )
    first = (tasks // 2 - groups) // 2
    second = tasks // 2 - groups - first
    calibration = [draft.file(path, size_bytes) for path, size_bytes in CALIBRATION.items()]
    injections = draft.file("injections.xml", INJECTIONS)
    firsts, seconds = draft.shares(first, groups), draft.shares(second, groups)
    for group, counts in enumerate(zip(firsts, seconds, strict=True), start=1):
        stretches = [_frames(draft, group, number) + calibration for number in range(1, 1 + max(counts))]
        triggers = []
        for number, data in enumerate(stretches[: counts[0]], start=1):
            bank = draft.file(f"templates_{group}_{number}.xml", *TEMPLATES)
            draft.task("TmpltBank", draft.draw(*TEMPLATE_BANK_S), data, [bank])
            triggers.append(draft.file(f"triggers_{group}_{number}.xml", *TRIGGERS))
            draft.task("Inspiral", draft.draw(*INSPIRAL_S), [bank, injections, *data], triggers[-1:])
        coincidences = draft.file(f"coincidences_{group}.xml", *COINCIDENCES)
        draft.task("Thinca", draft.draw(*THINCA_S), triggers, [coincidences])
        again = []
        for number, data in enumerate(stretches[: counts[1]], start=1):
            bank = draft.file(f"trigger_templates_{group}_{number}.xml", *TRIGGER_TEMPLATES)
            draft.task("TrigBank", draft.draw(*TRIGGER_BANK_S), [coincidences], [bank])
            again.append(draft.file(f"second_triggers_{group}_{number}.xml", *TRIGGERS))
            draft.task("Inspiral", draft.draw(*INSPIRAL_S), [bank, injections, *data], again[-1:])
        final = draft.file(f"second_coincidences_{group}.xml", *COINCIDENCES)
        draft.task("Thinca", draft.draw(*THINCA_S), again, [final])
    return draft.instance("LIGO Inspiral, made up after Bharathi et al. 2008")


def _frames(draft: Draft, group: int, number: int) -> list[str]:
    return [draft.file(f"strain_{group}_{number}_{part}.gwf", *FRAME) for part in range(1, FRAMES + 1)]


FAMILY = Family("gravitational waves (Inspiral); 6 levels, fanned out and in twice", _FEWEST, make)
