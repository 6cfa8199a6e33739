"""Every reader of text from outside, with good texts for it: the one list that the fuzzer, its sample and docs go by.

Journals and history files are SQLite's, and damaged elsewhere (`tests/journal`, `tests/history`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from headway.api import amounts
from headway.api.bundle_secrets import Scrubber
from headway.api.settings import SETTINGS, read_settings
from headway.clusters.slurm import accounting, energy, site_reading
from headway.clusters.slurm.backfill import backfill_of
from headway.clusters.slurm.commands import Answer, Commands
from headway.clusters.slurm.costs import weights_of
from headway.clusters.slurm.hostlist import expand
from headway.clusters.slurm.job_details import details_of
from headway.clusters.slurm.options import SlurmOptions, options_of, sbatch_variables
from headway.clusters.slurm.probes import probe
from headway.clusters.slurm.queue_reading import Reading, twin_of
from headway.clusters.slurm.reasons import limit_in_words, never, words_of
from headway.clusters.slurm.rights import Rows, rights_of
from headway.clusters.slurm.squeue import jobs_of as squeue_jobs
from headway.clusters.slurm.submitting import complaint_of, send
from headway.dashboard import task_texts
from headway.formats import ksegments, sacct, swf
from headway.formats.headway_yaml import parse_workflow
from headway.formats.headway_yaml_out import headway_yaml
from headway.formats.pegasus_dax import parse_dax
from headway.formats.read_task_log import FORMATS, read_task_log
from headway.formats.sheets import parse_sheet
from headway.formats.shell_pieces import ordinary_pieces
from headway.formats.wfformat import parse_wfformat
from headway.history.identities import identities_of
from headway.integrations import nested_messages
from headway.kernels.batch.queue import Scheduling
from headway.model.coming import stand_ins
from headway.model.command_as_run import command_as_run
from headway.model.errors import HeadwayError
from headway.model.named_paths import named_paths
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.units import parse_bytes, parse_duration
from headway.registry import _load
from headway.report.words import first_line
from headway.serving import client, messages
from headway.serving.commands import reported, sized, task_of
from headway.serving.members import FILE, Sharing
from headway.serving.wishes import read_sbatch, with_sbatch
from headway.simulation.batch import queue_of
from headway.simulation.batch_jobs import jobs_of
from headway.workers import protocol, unseen
from tests.formats import test_task_logs, test_tool_logs
from tests.formats.test_fuzz_workflow_files import SEED as YAML
from tests.formats.test_hostile_files import OURS, WFFORMAT
from tests.formats.test_pegasus_dax import DAX_2, DAX_3
from tests.formats.test_sacct import DUMP
from tests.fuzz import http
from tests.fuzz.watching import unwatched
from tests.slurm.test_cluster_parsing import DETAILS, LINE, ROWS

Own = tuple[type[BaseException], ...]
_MOST_LINES = 1000  # of a text, where each of its lines goes to many parsers


class Reader(NamedTuple):
    """A reader: good texts for it, how it is called, and the exceptions that its callers expect."""

    name: str
    seeds: tuple[bytes, ...]
    read: Callable[[bytes], object]
    own: Own = (HeadwayError,)


def _in_file(read: Callable[[Path], object], name: str) -> Callable[[bytes], object]:
    """A reader of files; the file is written first, which is no business of the law's."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # disks are slow
    folder = tempfile.TemporaryDirectory(prefix="headway-fuzz-", dir=memory)

    def call(data: bytes) -> object:
        place = Path(folder.name) / str(os.getpid()) / name
        with unwatched():
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
        return read(place)

    return call


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _lines(data: bytes) -> Iterable[str]:
    return _text(data).splitlines(keepends=True)


# --- workflows and logs ---


def _workflow(data: bytes) -> None:
    headway_yaml(parse_workflow(data, "w.yaml"))


def _instance(parse: Callable[[bytes, str], Any]) -> Callable[[bytes], object]:
    def call(data: bytes) -> object:
        return parse(data, "w").workflow.topological()

    return call


def _batch_log(read: Callable[[bytes, str, str, bool], Any]) -> Callable[[bytes], object]:
    """Read a log, and set up the queue of its jobs, with certain nodes where the machine is small."""

    def call(data: bytes) -> object:
        jobs = jobs_of(read(data, "log", "log", len(data) % 2 == 0))
        return queue_of(jobs, Scheduling(nodes="ids" if len(jobs) % 2 else "counts"))

    return call


def _task_log(name: str) -> Callable[[bytes], object]:
    return lambda data: list(FORMATS[name].read(_lines(data), "log", "log").tasks)


def _ksegments(data: bytes) -> object:
    series = ksegments.read_series(_lines(test_task_logs.SERIES.encode()), "s")
    return list(ksegments.read(_lines(data), "log", series).tasks)


_SWF = (
    b"; Version: 2.2\n; MaxProcs: 128\n; UnixStartTime: 1000000\n; TimeZoneString: Europe/Paris\n"
    b"1 0 5 60 4 -1 -1 4 120 -1 1 3 1 1 1 1 -1 -1\n2 10 0 30 128 29.5 100 128 60 200 1 3 1 -1 1 1 -1 -1\n"
    b"3 11 0 -1 -1 -1 -1 2 60 -1 5 4 1 1 1 2 -1 -1\n"
)
_LOGS: dict[str, tuple[str, ...]] = {
    "nextflow": (test_task_logs.NEXTFLOW_RAW, test_task_logs.NEXTFLOW_HUMAN),
    "work-queue-csv": (test_task_logs.WORK_QUEUE_CSV,),
    "work-queue-log": (test_task_logs.WORK_QUEUE_LOG,),
    "ccl": (test_task_logs.CCL_CSV, test_task_logs.CCL_TEXT),
    **test_tool_logs.EVERY,
}
_ALL_LOGS = tuple(text.encode() for texts in _LOGS.values() for text in texts)

# --- what Slurm's commands print ---


class _Said(Commands):
    """Commands that answer what they are told to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._answer = Answer(0, text.encode(errors="replace"), text)

    def _run(self, argv: Any, environment: Any, text: str | None = None) -> Answer:
        return self._answer


_NODES = (
    "n1|main|idle|16|64000|gpu:a100:2(S:0-1)|1|big,new\nn2|main|mixed-|16|64000|(null)|1|(null)\n"
    "n3|long|down*|32|128000|gpu:4|10|new\n"
)
_CONFIG = (
    "Configuration data as of 2026-11-17T10:00:00\nAccountingStorageEnforce = associations,limits\n"
    "AccountingStorageType   = accounting_storage/slurmdbd\nClusterName             = lab\nMinJobAge = 300 sec\n"
    "SLURM_VERSION           = 23.11.4\nSchedulerParameters = bf_max_job_test=100,bf_window=1440,bf_resolution=60\n"
    "SelectType              = select/cons_tres\nPriorityFlags = MAX_TRES\n"
)
_PARTITION = (
    "PartitionName=main AllowGroups=ALL AllowAccounts=lab,guest AllowQos=ALL Default=YES QoS=N/A MaxNodes=4 "
    "MaxTime=1-00:00:00 MinNodes=0 OverSubscribe=NO PriorityTier=2 RootOnly=NO PreemptMode=REQUEUE State=UP "
    "MaxCPUsPerNode=UNLIMITED MaxMemPerNode=64000 TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=8\n"
)
_RESERVATION = (
    "ReservationName=night StartTime=1794742548 EndTime=1794752548 Duration=02:00:00 Nodes=n[1-3] NodeCnt=3 "
    "Flags=MAINT,SPEC_NODES State=INACTIVE\n"
)
_RIGHTS = (
    "lab|lab||normal|+normal,-debug|10|20|1-00:00:00|cpu=100,mem=10G,node=4|cpu=5|2|3\n"
    "guest|lab|main|normal|normal|||2:00|||2|3\n"
)
_WAITING = LINE.replace("RUNNING", "PENDING").replace("n[1-3]", "").replace("7|", "8|", 1).replace("None", "Priority")


def _twin(data: bytes) -> None:
    """Read the queue of a small site, and plan it."""
    jobs = squeue_jobs(_text(data))
    nodes = site_reading.read_nodes(_Said(_NODES))
    partition = site_reading.partition_of(_PARTITION, nodes or {})
    for in_cores in (False, True):
        found = twin_of(Reading(1794742600.0, jobs or [], [partition]), "main", in_cores=in_cores)
        if found is not None:
            found.snapshot()


def _sinfo(data: bytes) -> None:
    nodes = site_reading.read_nodes(_Said(_text(data)))
    jobs = squeue_jobs(LINE + _WAITING) or []
    partition = site_reading.partition_of(_PARTITION, nodes or {})
    for in_cores in (False, True):
        twin_of(Reading(1794742600.0, jobs, [partition]), "main", in_cores=in_cores)


def _settings(data: bytes) -> object:
    found = site_reading.read_settings(_Said(_text(data)))
    return found and backfill_of(found.configuration.scheduling)


def _partition(data: bytes) -> object:
    partition = site_reading.partition_of(_text(data), {})
    return weights_of(partition.billing_weights)


def _rights(data: bytes) -> None:
    """The same text as the three tables that sacctmgr is asked for, each with the columns that it should have."""
    rows = [line.split("|") for line in _text(data).splitlines()[:_MOST_LINES]]
    tables = [[(row + [""] * width)[:width] for row in rows] for width in _RIGHTS_WIDTHS]
    rights = rights_of(Rows(*tables), SlurmOptions(), enforced=True)
    rights.limits("normal")


def _widths() -> list[int]:
    from headway.clusters.slurm import rights

    return [len(columns) for columns in (rights._USER_COLUMNS, rights._QOS_COLUMNS, rights._ACCOUNT_COLUMNS)]


_RIGHTS_WIDTHS = _widths()


def _sbatch(data: bytes) -> None:
    said = _Said(_text(data))
    send(said, ["sbatch"])
    complaint_of(Answer(1, data, _text(data)))
    partition = site_reading.partition_of(_PARTITION, {})
    probe(said, [(1, 60.0)], Resources(cores=1, memory_bytes=10**9, walltime_s=60.0), partition, SlurmOptions())


def _words(data: bytes) -> None:
    for line in _text(data).splitlines()[:_MOST_LINES]:
        words_of(line), limit_in_words(line), never(line), weights_of(line), backfill_of(line)


def _options(data: bytes) -> None:
    pairs = dict(line.partition("=")[::2] for line in _text(data).splitlines())
    sbatch_variables(pairs)
    options_of({name.lower(): value for name, value in pairs.items()})


# --- what tasks write, and their commands ---

_OUTPUT = (
    b"\x1b[1;31merror\x1b[0m: \x1b]0;title\x07 10%\r 20%\r\nTraceback (most recent call last):\n  File "
    b"\"/a/b.py\", line 1\nModuleNotFoundError: No module named 'tools.sort'\nsort: cannot read: reads/s1.fa: No such "
    b"file\n\xe2\x80\x98x.txt\xe2\x80\x99 not found\npassword=geheim https://me:geheim@host/hook/ab?token=c\n"
)
_COMMAND = (
    b"set -e; X=1 ./align.py --ref=ref.fa 'my reads.fq' \"$X\" *.txt 2> log | sort -k $((1+1)) -o out.txt # a {note}\n"
    b"cat <<'END' | awk '{print $1}' > {outputs[0]} && tee -a b\n don't\nEND\nbwa -t {cores} {sample}.fq `date` (a;b)\n"
)


def _output(data: bytes) -> None:
    """Show what a task wrote, look for its reason, and pack it for strangers."""
    text = _text(data)
    task_texts._plain(text)
    first_line(text)
    list(unseen._looked_for(text))
    list(unseen._words(text))
    Scrubber().text(text)


def _command(data: bytes) -> None:
    """Read a command in all the ways in which Headway does."""
    task = Task("t", "t", _text(data))
    named_paths(task)
    identities_of([task], Path("/nowhere"))
    command_as_run(task, Resources(cores=1, memory_bytes=10**9))
    list(ordinary_pieces(task.command))


# --- messages, settings and the rest ---

_SUBMIT = (
    b'{"do": "submit", "id": 7, "argv": ["sort", "a.txt"], "name": "a", "key": "k", "hints": {"memory_bytes": "2 GB", '
    b'"cores": 2, "walltime_s": "10m"}, "limits": {"memory_bytes": 4e9}, "input_bytes": 5, "environment": {"A": "b"}, '
    b'"priority": 1.5, "retries": 2, "wish": {"partition": "main"}, "sbatch": "-p long --gres=gpu:a100:2"}'
)
_QUOTE = b'{"do": "quote", "quote": "q", "category": "c", "failures": {"memory_bytes": [1e9, 2e9]}, "elsewhere": true}'
_RECORD = (
    b'{"task_id": 3, "hash": "ab/12", "process": "ALIGN", "tag": "s1", "name": "ALIGN (s1)", "status": "COMPLETED", '
    b'"exit": "0", "attempt": 1, "submit": 1794742548000, "start": 1794742549000, "complete": 1794742649000, '
    b'"realtime": 90000, "%cpu": 180.5, "peak_rss": 1200000000, "cpus": 2, "memory": 2000000000, "time": 3600000}'
)
_REPORT = b'{"do": "report", "input_bytes": 9, "hints": {"memory_bytes": "2 GB"}, "record": ' + _RECORD + b"}"
_SERVICE = (_SUBMIT, _QUOTE, _REPORT, b'{"do": "hello", "version": 1}', b'{"do": "signal", "task": "a", "signal": 15}')
_POOL = (
    b'{"say": "start", "task": {"id": "t", "category": "c", "command": "true", "inputs": ["a"], "hints": {"cores": 1}}'
    b', "attempt": 1, "directory": "/d", "limits": {"cores": 1, "memory_bytes": 1000000, "walltime_s": 60.5}}',
    b'{"say": "join", "run": "u", "name": "w", "directory": "/d", "number": "1", "home": "/d/home.json"}',
    b'{"say": "foreseen", "coming": [{"category": "c", "tasks": 5, "level": 0, "cores": 1.5, "memory_bytes": 9, '
    b'"run_s": 10}]}',
    b'{"say": "noted", "attempts": [["t", 1]]}',
)
_CALLS = (b'{"say": "withdraw", "task": "t"}', b'{"say": "waits", "task": "t", "attempt": 1, "waits": true}')
_NEWS = (
    b'{"say": "hello", "node": "n1", "pid": 7, "method": "cgroup", "reason": ""}',
    b'{"say": "ended", "outcome": {"task": "t", "attempt": 1, "ending": "success", "started_at": 1.5, "ended_at": 2}}',
    b'{"say": "lost", "task": "t", "attempt": 1, "message": "gone", "expired": true}',
    b'{"say": "room", "room": {"cores": 4, "memory_bytes": 1000}}',
)
_EVENTS = (
    b'{"event": "ended", "id": 7, "task": "t", "exit_code": 0, "cause": "success", "attempts": 1, "wall_s": 1.5}',
    b'{"event": "output", "task": "t", "stream": "stdout", "data": "aGFsbG8K"}',
)
_MEMBERS = (
    b'{"group": "lab", "members": {"ann": {"terms": '
    b'{"weight": 2.0, "most_cores": 4.0, "most_memory_bytes": 1000000000.0}}}}'
)
_TOML = (
    b'cores = 4\nmemory = "8 GB"\nsizer = "ladder"\nfailures = "3%"\nseed = 7\nkeep-going = true\nhistory = "h.db"\n'
    b'prefer = "cost"\nbudget = 500\nnotify = ["mail:me@example.org"]\npartition = ["short", "long"]\n',
    b'account = "lab"\nmanager = "job"\nmanager-time = "2h"\nlog-level = "info"\n',
)


def _service(data: bytes) -> None:
    """Do with a message what the server does."""
    request = messages.decode(data)
    if isinstance(request, messages.Quote | messages.Submit):
        request, _ = with_sbatch(request)
    if isinstance(request, messages.Submit):
        task_of(request, 1, {"PATH": "/bin"}, in_jobs=True)
    elif isinstance(request, messages.Quote):
        sized(request, protocol.Task("t", "c", ""))
    elif isinstance(request, messages.Report):
        reported(request, "run")


def _pool(data: bytes) -> None:
    """Do with a message what a pool does."""
    message = protocol.decode_to_pool(data)
    if isinstance(message, protocol.Foreseen):
        stand_ins(message.coming, "w")


def _environment(data: bytes) -> None:
    """Give every setting each line as its text."""
    for line in _text(data).splitlines()[:_MOST_LINES]:
        for setting in SETTINGS.values():
            try:
                setting.from_text(line)
            except HeadwayError:
                continue


def _amounts(data: bytes) -> None:
    """Give each line to everything that reads an amount."""
    parsers: list[Callable[[str], object]] = [parse_bytes, parse_duration, amounts.parse_cores, amounts.parse_share]
    parsers += [amounts.parse_budget, amounts.parse_size, amounts.parse_preference]
    parsers += [lambda text: amounts.parse_partitions(text.split(","))]
    parsers += [lambda text: read_sbatch(text[:2000])]  # shlex takes 3 microseconds a character
    for line in _text(data).splitlines()[:_MOST_LINES]:
        for parse in parsers:
            try:
                parse(line)
            except HeadwayError:
                continue


def _plugin(data: bytes) -> None:
    """Load what a distribution says that it adds; nothing of it exists."""
    from importlib.metadata import EntryPoint

    for line in _text(data).splitlines()[:_MOST_LINES]:
        name, _, value = line.partition("=")
        _load(EntryPoint(name.strip(), value.strip(), "headway.sizers"))


_SERVED: Own = (HeadwayError, msgspec.MsgspecError)
_AMOUNTS = (  # few lines each: every line goes to many parsers
    *(b"2 GB\n1.5GiB\n", b"90m\n1h 30min\n", b"1-02:00:00\n", b"4\n0.5\n", b"3%\nany\n", b"time\n500\n"),
    *(b"2=32,3=8\n", b"-p long --gres=gpu:a100:2\n"),
)
_SHEET = b'sample,lane,reads,size_mb\ns1,L1,"reads/s1,1.fa",120\ns2,L2,reads/s2.fa,9\n'
_TSV = b"Sample ID\tlane\n s1\t1\ns2\t2\n"

READERS = {
    reader.name: reader
    for reader in (
        Reader("workflow", (YAML,), _workflow),
        Reader("sheet", (_SHEET, _TSV), lambda data: parse_sheet(data, "s.csv").factor(None)),
        Reader("wfformat", (WFFORMAT, OURS), _instance(parse_wfformat)),
        Reader("dax", (DAX_2, DAX_3), _instance(parse_dax)),
        Reader("swf", (_SWF,), _batch_log(swf.read)),
        Reader("sacct-jobs", (DUMP.encode(),), _batch_log(sacct.read)),
        *(Reader(name, tuple(map(str.encode, texts)), _task_log(name)) for name, texts in _LOGS.items()),
        Reader("ksegments", (test_task_logs.KSEGMENTS.encode(),), _ksegments),
        Reader(
            "ksegments-series",
            (test_task_logs.SERIES.encode(),),
            lambda data: ksegments.read_series(_lines(data), "s"),
        ),
        Reader("any-log", _ALL_LOGS, _in_file(read_task_log, "log.txt")),
        Reader("squeue", ((LINE + _WAITING).encode(), LINE.encode()), _twin),
        Reader("sinfo", (_NODES.encode(),), _sinfo),
        Reader("scontrol-config", (f"scontrol: {_CONFIG}scontrol: {_PARTITION}scontrol: ".encode(),), _settings),
        Reader("scontrol-partition", (_PARTITION.encode(),), _partition, (HeadwayError, KeyError, ValueError)),
        Reader(
            "scontrol-reservation",
            (_RESERVATION.encode(),),
            lambda data: site_reading.read_reservations(_Said(_text(data))),
        ),
        Reader(
            "scontrol-job",
            (DETAILS.format(nodes="2-3", memory="MinMemoryCPU").encode(),),
            lambda data: details_of(_text(data)),
        ),
        Reader("sacct-own", (ROWS.encode(),), lambda data: accounting.read(_text(data))),
        Reader("sacct-energy", (b"one|1200\none|300\ntwo|0\nthree|\n",), lambda data: energy.read(_text(data))),
        Reader("sacctmgr", (_RIGHTS.encode(),), _rights),
        Reader(
            "sbatch", (b"123;lab\n", b"sbatch: Job 1 to start at 2026-11-17T10:00:00 using 4 processors\n"), _sbatch
        ),
        Reader("hostlist", (b"n[1-3,07],gpu5", b"r[1-2]n[08-09]"), lambda data: expand(_text(data)), (ValueError,)),
        Reader(
            "slurm-words",
            (b"QOSMaxCpuPerUserLimit\nPriority\n", b"CPU=1.0,Mem=1.0G\n", b"bf_window=10,max_rpc=5\n"),
            _words,
        ),
        Reader(
            "slurm-options", (b"SBATCH_ACCOUNT=lab\nSBATCH_GRES=gpu:1\naccount=lab\nflags=--gres=gpu:1\n",), _options
        ),
        Reader("output", (_OUTPUT,), _output),
        Reader("command", (_COMMAND,), _command),
        Reader("service", _SERVICE, _service, _SERVED),
        Reader("pool", _POOL, _pool, (*_SERVED, ValueError)),
        Reader("supervisor", (_POOL[0], _POOL[3]), protocol.decode_from_manager, _SERVED),
        Reader("manager", _NEWS, protocol.decode_from_supervisor, _SERVED),
        Reader("nested", _CALLS, nested_messages.from_call.decode, (ValueError, RecursionError)),
        Reader("client", _EVENTS, client.message_of, (client.ServiceError,)),
        Reader("members", (_MEMBERS,), _in_file(lambda path: Sharing.read(path.parent), FILE)),
        Reader("receiver", http.TOWER, http.received),
        Reader("dashboard", http.PAGES, http.dashboard),
        Reader("settings", _TOML, _in_file(read_settings, "headway.toml")),
        Reader("variables", (*_AMOUNTS, b"true\ninfo\n", b"ladder\n"), _environment),
        Reader("amounts", _AMOUNTS, _amounts),
        Reader("plugins", (b"mine = package.module:Class\nother = module\n",), _plugin),
    )
}
