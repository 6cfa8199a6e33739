cwlVersion: v1.2
class: CommandLineTool
baseCommand: cat
inputs:
  files: {type: "File[]", inputBinding: {position: 1}}
stdout: all.txt
outputs:
  out: stdout
