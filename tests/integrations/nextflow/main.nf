// A sum in stages: an array of small tasks, one task that needs more memory than it says, and one that waits for the test.
params.slow = false

process PART {
    tag "$number"
    array 2
    ext malleable: true
    memory '600 MB'
    input: val number
    output: path 'part.txt'
    script:
    """
    echo $number > part.txt
    """
}

process SUM {
    memory '60 MB'
    errorStrategy 'terminate'
    input: path 'part*.txt'
    output: path 'sum.txt'
    script:
    """
    python3 -c 'held = bytearray(150_000_000); print(sum(int(open(f"part{n}.txt").read()) for n in (1, 2, 3, 4)))' > sum.txt
    echo ${task.memory.toBytes()} ${task.cpus} \$HEADWAY_MEMORY_BYTES > ${params.out}/seen
    """
}

process SLOW {
    input: path sum
    output: path 'slow.txt'
    script:
    """
    echo \$\$ > ${params.out}/begun
    while [ ! -e ${params.out}/go ]; do sleep 0.05; done
    cp $sum slow.txt
    """
}

workflow {
    sum = SUM(PART(Channel.of(1, 2, 3, 4)).collect())
    sum.view { 'the sum is ' + it.text }
    if( params.slow )
        SLOW(sum).view { 'slowly, it is ' + it.text }
}
