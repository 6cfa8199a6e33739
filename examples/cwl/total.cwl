# Adds the numbers in files.
cwlVersion: v1.2
class: CommandLineTool
baseCommand: [awk, "{total += $1} END {print total}"]
inputs:
  numbers: {type: "File[]", inputBinding: {position: 1}}
stdout: primes.txt
outputs:
  sum: stdout
