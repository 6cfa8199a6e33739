# Counts the primes in [start, stop) by a sieve, in pieces of at most a quarter of the memory that it may use.
cwlVersion: v1.2
class: CommandLineTool
requirements:
  ResourceRequirement: {ramMin: 1000}
baseCommand: python3
arguments: ["--ram", $(runtime.ram)]
inputs:
  program: {type: File, default: {class: File, location: count.py}, inputBinding: {position: -1}}
  start: {type: int, inputBinding: {position: 1}}
  stop: {type: int, inputBinding: {position: 2}}
stdout: primes-$(inputs.start).txt
outputs:
  number: stdout
