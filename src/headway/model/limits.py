"""The largest amounts that Headway accepts from files, programs and people.

They are larger than anything that exists, and small enough that sums of them stay exact and no loop or table over them
takes minutes or gigabytes. What is larger is refused with a sentence where it is read.
"""

from __future__ import annotations

# Of a task, a job, a node or a machine: the largest machines have about ten million cores.
MOST_CORES = 2**24
# Of a job or a machine, and GPUs, licences and other things that are counted.
MOST_COUNT = 2**24
# Nodes of a simulated machine in which each job has certain nodes: a set of them is a row of bits.
MOST_NODES_WITH_NAMES = 2**20
# Memory or disk that is requested, and bytes of files: 1 EiB.
MOST_BYTES = 2**60
# Memory that a task has used, in a log: 1 PiB; no machine has as much.
MOST_USED_BYTES = 2.0**50
# A run time or a wait that was measured: ten years.
MOST_SECONDS = 10 * 365 * 86400.0
# A time that is requested: 136 years. Batch systems write "no limit" as a number of up to 32 bits.
MOST_ASKED_S = 2.0**32
# A moment, in seconds since the epoch or since the start of a log: in the year 2242.
MOST_AT_S = 2.0**33
# Attempts that are made at a task after the first one.
MOST_RETRIES = 1_000_000

# A file, unpacked: about ten million tasks.
MOST_FILE_BYTES = 4_000_000_000
# A line of a log.
MOST_LINE_BYTES = 1_000_000
# How much larger than itself a packed file may be, unpacked; text packs to a twentieth at best, zeros to a thousandth.
MOST_UNPACKED_RATIO = 100
# So much a packed file may hold in any case.
SMALL_FILE_BYTES = 50_000_000
# A file of settings.
MOST_SETTINGS_BYTES = 1_000_000
