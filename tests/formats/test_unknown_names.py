"""Names in braces that do not exist: errors, warnings, and the braces of other programs, which are neither."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.formats.headway_yaml import parse_workflow
from headway.formats.shell_pieces import ordinary_pieces
from headway.model.errors import HeadwayError, InputError
from headway.model.spelling import meant
from headway.model.workflow import Workflow

ROOT = Path(__file__).parents[2]
EACH = "each: {sample: [a, b], part: [x], id: [i]}"
CONFIG = "config: {genome: hg38, reference: 'ref/{genome}.fa'}"


def flow(keys: str, config: str = CONFIG) -> Workflow:
    """A workflow of one task; its keys are on line 4 and below."""
    text = f"name: w\n{config}\ntasks: {{t: {{\n{EACH}, {keys}}}}}\n"
    return parse_workflow(text.encode(), "w.yaml")


def run(command: str) -> Workflow:
    return flow(f"inputs: [in], outputs: ['{{sample}}.out'], run: {json.dumps(command)}")


# --- misspelt names ---


@pytest.mark.parametrize(
    ("command", "name", "suggestion"),
    [
        ("echo {smaple} > {outputs}", "smaple", "sample"),
        ("echo {smpl} {sampel}", "sampel", "sample"),
        ("echo x_{sampls}.txt", "sampls", "sample"),
        ("cat {genom}.fa", "genom", "genome"),
        ("cat {refrence}", "refrence", "reference"),
        ("cat {input} > {output}", "input", "inputs"),
        ("cat {input[0]}", "input[0]", "inputs[0]"),
        ("cat {inptus.list}", "inptus.list", "inputs.list"),
        ("sort --parallel={core}", "core", "cores"),
        ("sort -S {memory_bm}M", "memory_bm", "memory_mb"),
        ("echo {tsak}", "tsak", "task"),
        ("echo {prat} {ip}", "prat", "part"),
        ("echo {ip}", "ip", "id"),
        ('bwa mem -R "@RG\\tID:{smaple}\\tSM:{sample}" ref.fa', "smaple", "sample"),
        ("bwa mem -R '@RG\\tID:{smaple}' ref.fa", "smaple", "sample"),
        ("printf 'name\\t{smaple}\\n'", "smaple", "sample"),
        ("awk '{print $1}' {smaple}.txt", "smaple", "sample"),
        ("awk '{print $1}' x | sort > {ouputs}", "ouputs", "outputs"),
        ("python3 count.py --name '{smaple}'", "smaple", "sample"),
        ('./count --json \'{"sample": "{smaple}"}\'', "smaple", "sample"),
        ('cat "$(dirname "{smaple}")/x"', "smaple", "sample"),
        ("x=$(cat {smaple}.txt | wc -l)", "smaple", "sample"),
        ("cat <<EOF\n{print}\nEOF\ncat {smaple}", "smaple", "sample"),
        ("ls {smaple} | parallel wc {}", "smaple", "sample"),
        ("cat nextflow/{smaple}.txt", "smaple", "sample"),
        ("tool >{smaple}.txt 2>{log}", "smaple", "sample"),
        ("echo {sample}{prat}", "prat", "part"),
    ],
)
def test_a_misspelt_name_in_a_command_is_an_error(command: str, name: str, suggestion: str) -> None:
    with pytest.raises(InputError) as caught:
        run(command)
    assert str(caught.value) == (
        f"w.yaml:4: the command of task 't' names {{{name}}}, which does not exist; did you mean {{{suggestion}}}?"
    )


@pytest.mark.parametrize(
    ("command", "name", "suggestion"),
    [
        ("echo { sample}", " sample", "sample"),
        ("echo x{sample }.txt", "sample ", "sample"),
        ("echo '{ sample }.txt'", " sample ", "sample"),
        ("sort a/{ sample }_{part}.txt > b", " sample ", "sample"),
        ("cat {inputs[o]}", "inputs[o]", "inputs"),
        ("cat {inputs[-1]}", "inputs[-1]", "inputs"),
        ("cat {inputs[0] }", "inputs[0] ", "inputs[0]"),
        ("echo {sample[0]}", "sample[0]", "sample"),
        ("echo '{sample!r}'", "sample!r", "sample"),
        ("echo {sample!r}.{part}", "sample!r", "sample"),
        ("tool --name '{sample}_{ part}'", " part", "part"),
        ("awk '{ print }' { sample}.txt", " sample", "sample"),
    ],
)
def test_a_known_name_with_something_else_in_its_braces_is_an_error(command: str, name: str, suggestion: str) -> None:
    with pytest.raises(InputError) as error:
        run(command)
    assert error.value.what == f"the command of task 't' names {{{name}}}, which stays as it is"
    assert error.value.todo == f"did you mean {{{suggestion}}}?"


def test_a_known_name_with_a_space_in_a_path_is_an_error() -> None:
    with pytest.raises(InputError, match=r"'outputs' of task 't' names \{ sample\}, which stays as it is"):
        flow("run: x, outputs: '{ sample}.txt'")


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ("run: x, inputs: [a, '{smaple}.txt']", "'inputs' of task 't'"),
        ("run: x, inputs: 'my reads/{smaple}.txt'", "'inputs' of task 't'"),
        ("run: x, outputs: '{smaple}.txt'", "'outputs' of task 't'"),
        ("run: x, temp: ['{smaple}.txt']", "'temp' of task 't'"),
        ("run: x, needs: ['u[{smaple}]']", "'needs' of task 't'"),
        ("run: x, env: {NAME: '{smaple}'}", "'env' of task 't'"),
        ("run: x, env: {NAME: '{sample} or {smaple}'}", "'env' of task 't'"),
        ("run: x, setup: [module load a, 'cd {smaple}']", "'setup' of task 't'"),
        ("run: 'print()', shell: python3, setup: 'cd {smaple}'", "'setup' of task 't'"),
        ("run: x, container: 'image:{smaple}'", "'container' of task 't'"),
        ("run: x, conda: '{smaple}.yaml'", "'conda' of task 't'"),
        ("run: x, modules: [gcc, 'r/{smaple}']", "'modules' of task 't'"),
    ],
)
def test_a_misspelt_name_elsewhere_is_an_error(keys: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        flow(keys)
    assert str(caught.value) == (f"w.yaml:4: {place} names {{smaple}}, which does not exist; did you mean {{sample}}?")


def test_a_misspelt_name_in_the_workflow_s_own_environment() -> None:
    with pytest.raises(InputError, match=re.escape("'conda' of the workflow names {genmoe}, which does not exist")):
        parse_workflow(b"name: w\nconfig: {genome: a}\nconda: '{genmoe}.yaml'\ntasks: {t: {run: x}}")


def test_a_misspelt_name_in_a_value_of_config_is_found_where_the_value_is_used() -> None:
    config = "config: {reads: 'data/{smaple}.fq', unused: '{smaple}'}"
    assert flow("run: x", config).warnings == []
    with pytest.raises(InputError) as caught:
        flow("run: 'zcat {reads}'", config)
    assert str(caught.value) == (
        "w.yaml:4: 'reads' in 'config', which the command of task 't' uses, names {smaple}, which does not exist; "
        "did you mean {sample}?"
    )


def test_the_line_is_that_of_the_text() -> None:
    with pytest.raises(InputError, match=r"^w\.yaml:7: 'inputs'"):
        parse_workflow(
            b"name: w\ntasks:\n  t:\n    each: {sample: [a]}\n    run: x\n    inputs: [a,\n      '{smaple}']\n",
            "w.yaml",
        )


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("smaple", ["sample"], "sample"),
        ("sampelx", ["sample"], "sample"),
        ("samxyz", ["sample"], ""),
        ("path", ["part"], ""),
        ("prat", ["part"], "part"),
        ("ids", ["id"], "id"),
        ("xy", ["id"], ""),
        ("i", ["id"], ""),
        ("x", ["y"], ""),
        ("lanes", ["lane", "planes"], "lane"),
        ("a" * 100, ["a" * 99], ""),
    ],
)
def test_misspellings(word: str, known: list[str], expected: str) -> None:
    assert meant(word, known) == expected


# --- other unknown names ---


@pytest.mark.parametrize(
    ("keys", "place", "name"),
    [
        ("run: 'echo {lane}'", "the command of task 't'", "lane"),
        ("run: 'echo \"{lane}\"'", "the command of task 't'", "lane"),
        ("run: 'echo {wildcards.sample}'", "the command of task 't'", "wildcards.sample"),
        ("run: 'cat {inputs}', inputs: a, outputs: '{task}-{sample}.txt'", "'outputs' of task 't'", "task"),
        ("run: x, inputs: '{lane}.txt'", "'inputs' of task 't'", "lane"),
        ("run: x, env: {NAME: '{lane}'}", "'env' of task 't'", "lane"),
        ("run: x, container: 'image:{lane}'", "'container' of task 't'", "lane"),
    ],
)
def test_an_unknown_name_is_a_warning(keys: str, place: str, name: str) -> None:
    warned = f"w.yaml:4: {place} names {{{name}}}, which is unknown there and stays as it is"
    assert [text.partition("; did")[0] for text in flow(keys).warnings if "inputs[-1]" not in text] == [warned]


def test_a_name_that_differs_in_case_is_a_warning_with_a_suggestion() -> None:
    (warning,) = run("echo {SAMPLE}").warnings
    assert warning.endswith("{SAMPLE}, which is unknown there and stays as it is; did you mean {sample}?")


def test_a_misspelt_name_among_strange_ones_is_a_warning_with_a_suggestion() -> None:
    level, sample = run("./tool --format '{level}: {samples}'").warnings
    assert "{level}" in level
    assert sample.endswith("names {samples}, which is unknown there and stays as it is; did you mean {sample}?")


def test_every_name_is_warned_of_once_and_many_in_one_sentence() -> None:
    assert len(run("echo {lane}\necho {lane} {lane}").warnings) == 1
    warnings = run("echo " + " ".join(f"{{strange{number}00}}" for number in range(20))).warnings
    assert len(warnings) == 10
    assert warnings[-1].startswith("11 more names in braces are unknown: {strange900}, {strange1000}, ")


# --- braces of other programs ---

# `{name}`, `{value}` and others are one letter from names that the task has, so that each would be an error.
ALIKE = (
    "each: {names: [a], value_s: [b], printt: [c], counts: [d], titles: [e], item_: [f], sampl: [g], documents: [h]}"
)
ONE_LINERS = [
    # awk
    "awk '{print}' a > b",
    "awk '{sum+=$1} END{print sum}' a",
    "awk -F'\\t' 'NR>1{count[$1]++} END{for (name in count) print name, count[name]}' a",
    "awk 'BEGIN{OFS=\"\\t\"} {name} {print $1}' a",
    "gawk '{name}' a | sort",
    'awk "{count}" a',
    "prog='{print}'; awk \"$prog\" a",
    "sudo nice -n 5 /usr/bin/awk '/x/{name}' a",
    "samtools view a.bam | mawk '$5>30{count}' | wc -l",
    "n=$(awk '{name}' a)",
    'n="$(awk \'{name}\' "a")"',
    "bash -c \"awk '{name}' a\"",
    "$AWK '{name}' a; ${PYTHON} -c '{value}'",
    "n=`awk '{name}' a`; echo $n",
    # jq and JSON
    "jq '{name}' a.json",
    "jq -c '.[] | {name, title}' a.json",
    "jq 'map({name})' a.json",
    "curl -s x | jq -r '.items[] | {item} | @csv'",
    "yq '{name}' a.yaml",
    'echo \'{"a": {"b": 1}}\' > a.json',
    # sed and regular expressions
    "sed -n '/x/{p}' a",
    "sed '/x/{N;d}' a",
    "sed 's/a\\{2\\}/b/' a",
    "sed -E 's/{name}/x/' template",
    "rg -o 'x(?P<name>.)' -r '{name}' a",
    "grep -E 'a{2}' a",
    "grep -P '\\p{Lu}\\x{41}' a",
    # perl
    "perl -ne 'print $h{name} if /x/' a",
    "perl -lane '$c{$F[0]}++; END{print $c{name}}' a",
    "perl -pe 's{name}{value}g' a",
    "perl -e 'print $r->{name}, @{value}'",
    # Python, R and others
    "python3 -c 'print(f\"{name}\")'",
    "python -c \"print('{name}'.format(name=1))\"",
    "python3 - <<EOF\nname = 1\nprint(f'{name}: {value}')\nEOF\n",
    "cat > a.tex <<'END'\n\\begin{document} {title}\nEND\ncat a.tex",
    "cat <<-A > x; cat <<B > y\n\t{name}\n\tA\n{value}\nB\necho",
    "Rscript -e 'f <- function(x){name}; glue(\"{value}\")'",
    "julia -e 'Vector{name}'",
    "ruby -ne 'puts \"#{name}\"'",
    "node -e 'const {name} = require(\"x\")'",
    # with spaces, an index or a conversion
    "awk '{ names }' a",
    "awk -f - a <<'END'\n{ names }\nEND\n",
    "jq '.[] | { names, counts }' a.json; jq '{ names }' a.json",
    "filter='{ names }'; jq \"$filter\" a.json",
    "f() { names; }; { names; } 2>&1; { names\n}\n",
    "(true && { names })",
    "python3 -c 'print(f\"{names!r} {names[0]}\")'",
    "python3 - <<END\nprint(f'{names!r}', '{ names }')\nEND\n",
    "node -e 'const { names } = require(\"x\")'",
    "gh api graphql -f query='{ viewer { names } }'",
    'curl -d \'{"query": "{ viewer { names } }"}\' x',
    "curl -d 'query { viewer { names } }' x",
    "echo ${names[0]} ${ names} {{ names }} @{ names } %{ names }",
    "echo \\{ names \\}",
    "parallel --header : echo '{ names }' ::: names a",
    "Rscript -e 'glue(\"{ names }\")'",
    "printf '{ names }' | jq -R .",
    "echo 'print(f\"{name}\")' | python3",
    "printf '%s' '{name}' | jq -R .",
    # the shell itself
    "echo {a,b} {1..3} {a..c} {} ${name} ${names[0]} {{name}}",
    "exec {lock}> a; flock $lock; exec {name}>&-",
    "f() { echo a; }; f",
    "echo a # {name}",
    "echo \\{name\\}",
    "./tool --format '{''name}: {''value}'",
    "diff <(awk '{name}' a) <(awk '{value}' b) 2>&1 | head",
    "case $x in a) awk '{name}' b;; esac",
    # templates
    "find . -name '*.txt' -exec wc {} +",
    "ls | xargs -I {} cp {} b/{}",
    "ls | xargs -I{name} cp {name} b",
    "parallel echo {} {.} {/} {1} ::: a b",
    "parallel --header : -j $(nproc) echo {name} ::: name a b",
    "parallel 2>&1 --colsep '\\t' 'echo {name}' :::: a.tsv",
    "cutadapt -g file:barcodes.fa -o trimmed-{name}.fq a.fq",
    "seqkit replace -p '(.+)' -r '{name}' a.fa",
    "hyperfine -L count 1,2 'sleep {count}'",
    "curl -s -o a -w '%{http_code} %{name}' x",
    "git rev-parse HEAD@{name} v1^{value}",
    "docker ps --format '{{.Names}} {{name}}'",
    "tmux display -p '#{name}'",
    "echo '\\begin{document}\\title{name}\\frac{name}{value}\\end{document}' > a.tex",
    "groovy -e 'list.each{item}'",
]


@pytest.mark.parametrize("command", ONE_LINERS)
def test_braces_of_programs_are_left_alone(command: str) -> None:
    text = f"name: w\ntasks:\n  t:\n    {ALIKE}\n    run: {json.dumps(command)}\n"
    flow = parse_workflow(text.encode())
    assert flow.warnings == []
    (task,) = flow
    assert task.command == command


@pytest.mark.parametrize(
    "keys",
    [
        "shell: python3, run: 'print(f\"{smaple} {lane}\")'",
        "shell: Rscript, run: 'function(x){smaple}'",
        "run: x, env: {FORMAT: '{time} {level} {samples}'}",
        "run: x, env: {FORMAT: '${smaple} {{lane}}'}",
        "run: 'echo \"{unclosed} {smaple}'",
    ],
)
def test_braces_of_other_interpreters_and_of_messages_are_left_alone(keys: str) -> None:
    assert flow(keys).warnings == []


def test_tasks_that_programs_write_are_left_alone() -> None:
    text = "name: w\nconfig: {sample: a}\ntasks: {'t[1]': {category: t, run: 'echo {smaple} {lane}'}}\n"
    assert parse_workflow(text.encode()).warnings == []


def test_the_docs_and_examples_have_no_unknown_names() -> None:
    texts = {
        f"{page.name} {place}": block if block.startswith("name:") else f"name: w\ntasks:\n{block}"
        for page in (ROOT / "docs").glob("*.md")
        for place, block in enumerate(re.findall(r"```yaml\n((?:name: |  \w+:).*?)```", page.read_text(), re.DOTALL))
    }
    texts |= {str(file): file.read_text() for file in ROOT.glob("*/*/workflow.yaml")}
    assert len(texts) > 20
    for file, text in texts.items():
        try:
            assert parse_workflow(text.encode(), file).warnings == []
        except HeadwayError as problem:  # a sheet or a task of another block is missing
            assert "names {" not in str(problem)


# --- any text ---


@given(st.text("{}ab'\"\\$`()|;&<>\n #-awk", max_size=60))
def test_any_text_has_pieces(text: str) -> None:
    ends = [0]
    for start, end, _ in ordinary_pieces(text):
        assert ends[-1] <= start < end <= len(text)
        ends.append(end)


def test_a_hostile_text_takes_no_time() -> None:
    """Here-documents without an end, quotes, and many braces; a slow way would take minutes."""
    for part in ("cat <<A <<B\n" * 8000, "'\"" * 49_000, "{name} " * 14_000, "\\begin[" * 14_000):
        command = f"{part} {{name}}"
        parse_workflow(f"name: w\ntasks: {{t: {{run: {json.dumps(command)}}}}}".encode())
