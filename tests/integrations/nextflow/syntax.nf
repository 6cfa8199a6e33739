// Is no pipeline: a bracket is missing.
process UNFINISHED {
    script:
    "true"

workflow {
    UNFINISHED(
}
