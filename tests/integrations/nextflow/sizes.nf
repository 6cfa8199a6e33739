// Tasks that run long enough for Nextflow's wrapper to see them, one of which ends as under a limit that it exceeds.
process PART {
    tag "$number"
    memory '600 MB'
    input: val number
    output: path 'part.txt'
    script:
    """
    echo $number > part.txt
    sleep 4
    """
}

process SUM {
    memory { 60.MB }
    maxErrors 1
    input: path 'part*.txt'
    output: path 'sum.txt'
    script:
    """
    python3 -c 'import time; held = bytearray(150_000_000); time.sleep(4); exit(len(held) > ${task.memory.toBytes()})' || kill -9 \$\$
    cat part*.txt | wc -l > sum.txt
    """
}

process BROKEN {
    memory '50 MB'
    maxRetries 1
    errorStrategy { task.exitStatus == 3 ? 'retry' : 'terminate' }
    script:
    """
    echo ${task.memory.toMega()} ${task.attempt} >> ${params.out}/tried
    [ ${task.memory.toMega()} -ge 100 ] || exit 137
    exit 3
    """
}

params.broken = false

workflow {
    if( params.broken )
        BROKEN()
    else
        SUM(PART(Channel.of(1, 2, 3)).collect()).view { 'the sum is ' + it.text }
}
