# Prints what it may use, then needs more memory than its first size; as often as it is tried, `out` is written anew.
cwlVersion: v1.2
class: CommandLineTool
requirements:
  ResourceRequirement: {ramMin: $(inputs.ram), coresMin: 1}
  InitialWorkDirRequirement:
    listing:
      - entryname: grow.py
        entry: |
          import os, sys
          enforced = int(os.environ.get("HEADWAY_MEMORY_BYTES", "0")) // 2**20
          print("ram", sys.argv[1], "enforced", enforced, "cores", sys.argv[2], flush=True)
          data = bytearray(int(sys.argv[3]) * 2**20)
          data[:: 4096] = bytes(len(data[::4096]) * [1])
          print("part", sys.argv[4])
baseCommand: [python3, -S, grow.py]
arguments: [$(runtime.ram), $(runtime.cores)]
inputs:
  ram: {type: int, default: 40}
  need: {type: int, default: 100, inputBinding: {position: 1}}
  part: {type: int, inputBinding: {position: 2}}
stdout: part$(inputs.part).txt
outputs:
  out: stdout
