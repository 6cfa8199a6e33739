# Steps that end badly, each in its own way.
cwlVersion: v1.2
class: Workflow
inputs: []
outputs: []
steps:
  fails:
    run: {class: CommandLineTool, baseCommand: [sh, -c, "echo oops >&2; exit 3"], inputs: [], outputs: []}
    in: []
    out: []
  killed:
    run: {class: CommandLineTool, baseCommand: [sh, -c, "kill -9 $$"], inputs: [], outputs: []}
    in: []
    out: []
  missing:
    run: {class: CommandLineTool, baseCommand: no-such-program, inputs: [], outputs: []}
    in: []
    out: []
  late:
    run:
      class: CommandLineTool
      requirements: {ToolTimeLimit: {timelimit: 1}}
      baseCommand: [sleep, "1000"]
      inputs: []
      outputs: []
    in: []
    out: []
