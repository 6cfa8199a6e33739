// Fails in the user's own command, once more than the pipeline allows.
process BROKEN {
    maxRetries 1
    errorStrategy { task.attempt == 1 ? 'retry' : 'terminate' }
    script:
    """
    echo again >> ${params.out}/tried
    echo the sum is wrong >&2
    exit 3
    """
}

workflow {
    BROKEN()
}
