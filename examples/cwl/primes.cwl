# Counts primes in several ranges at a time, and adds what was found.
cwlVersion: v1.2
class: Workflow
requirements: {ScatterFeatureRequirement: {}}
inputs:
  starts: int[]
  stops: int[]
outputs:
  primes: {type: File, outputSource: total/sum}
steps:
  count:
    run: count.cwl
    scatter: [start, stop]
    scatterMethod: dotproduct
    in: {start: starts, stop: stops}
    out: [number]
  total:
    run: total.cwl
    in: {numbers: count/number}
    out: [sum]
