# Part 1 ends at once, part 2 when the file or pipe `gate` has an end. Each notes that it has started.
cwlVersion: v1.2
class: Workflow
requirements: {ScatterFeatureRequirement: {}}
inputs:
  place: string
outputs:
  all: {type: "File[]", outputSource: wait/out}
steps:
  wait:
    scatter: part
    run:
      class: CommandLineTool
      baseCommand: [sh, -c, 'echo >> $0/started$1; [ $1 = 1 ] || cat $0/gate > seen; echo part $1 of $2 MiB']
      arguments: [{valueFrom: $(runtime.ram), position: 3}]
      inputs:
        place: {type: string, inputBinding: {position: 1}}
        part: {type: int, inputBinding: {position: 2}}
      outputs: {out: stdout}
    in:
      place: place
      part: {default: [1, 2]}
    out: [out]
