// Two samples go through stages whose needs are known: comments say what a task needs of what it asks for.
// As in published pipelines, most ask for far more than they need.
params.share = 1.0 // of the work

process FETCH {
    tag "$sample"
    cpus 1
    memory '1 GB' // needs 20 MB, and waits most of the time
    input: val sample
    output: tuple val(sample), path('fetched')
    script:
    """
    python3 $projectDir/load.py --wait ${params.share * 0.5} > fetched
    """
}

process ALIGN {
    tag "$sample"
    cpus 2
    ext malleable: true
    memory '2 GB' // needs 90 or 120 MB; nine tenths of the work are done by as many threads as there are
    input: tuple val(sample), path(fetched)
    output: tuple val(sample), path('aligned')
    script:
    """
    python3 $projectDir/load.py --work ${params.share * 160} --parallel 0.9 --threads $task.cpus --hold ${40 + 30 * sample} > aligned
    """
}

process SORT {
    tag "$sample"
    cpus 2 // uses one
    memory '400 MB' // needs 170 or 270 MB
    input: tuple val(sample), path(aligned)
    output: path 'sorted'
    script:
    """
    python3 $projectDir/load.py --work ${params.share * 80} --hold ${50 + 100 * sample} > sorted
    """
}

process CALL {
    cpus 1
    ext malleable: true
    memory '2 GB' // needs 80 MB; all but a tenth of the work could be done by more threads
    input: path 'sorted*'
    output: path 'called'
    script:
    """
    python3 $projectDir/load.py --work ${params.share * 160} --parallel 0.9 --threads $task.cpus --hold 60 > called
    """
}

process REPORT {
    cpus 1
    memory '1 GB' // needs 60 MB
    input: path called
    output: path 'report'
    script:
    """
    python3 $projectDir/load.py --work ${params.share * 30} --hold 40 > report
    """
}

workflow {
    FETCH(Channel.of(1, 2)) | ALIGN | SORT | collect | CALL | REPORT
}
