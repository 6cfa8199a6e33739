// Counts the prime numbers below a limit: one task per range sieves it, the last adds up.
params.limit = 1_000_000
params.ranges = 4

process SIEVE {
    tag "$from"
    cpus 1
    memory '2 GB' // as pipelines often ask for; it needs a hundredth of that

    input:
    tuple val(from), val(below)

    output:
    path 'count.txt'

    script:
    """
    echo "sieving $from to $below with ${task.memory}"
    sieve.py $from $below > count.txt
    """
}

process TOTAL {
    memory '1 GB'
    publishDir '.', mode: 'copy'

    input:
    path 'count*.txt'

    output:
    path 'primes.txt'

    script:
    """
    cat count*.txt | awk '{ sum += \$1 } END { print sum }' > primes.txt
    """
}

workflow {
    width = params.limit.intdiv(params.ranges)
    ranges = Channel.of(0..<params.ranges).map { it -> tuple(it * width, (it + 1) * width) }
    TOTAL(SIEVE(ranges).collect()).view { it -> "primes below ${params.limit}: ${it.text.trim()}" }
}
