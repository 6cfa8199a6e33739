# A scatter whose parts outgrow their first size, a step that asks for far too much, and one that joins their outputs.
cwlVersion: v1.2
class: Workflow
requirements:
  ScatterFeatureRequirement: {}
  MultipleInputFeatureRequirement: {}
inputs:
  parts: int[]
outputs:
  all: {type: File, outputSource: join/out}
steps:
  grow:
    run: grow.cwl
    scatter: part
    in:
      part: parts
      need: {default: 100}
      ram: {default: 60}
    out: [out]
  lavish:
    run: grow.cwl
    scatter: part
    in:
      part: parts
      need: {default: 5}
      ram: {default: 1000}
    out: [out]
  join:
    run: join.cwl
    in:
      files: {source: [grow/out, lavish/out], linkMerge: merge_flattened}
    out: [out]
