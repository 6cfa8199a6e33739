"""The law of right results: a run that succeeded leaves the outputs that an empty directory would get.

Whatever was run, edited, interrupted, renamed or deleted in a directory before: after a `headway run` that says that it
succeeded, every declared output is, byte for byte, the one that the same workflow, settings and inputs give in an empty
directory. Seeds make up workflows (`flows`) and what their users do (`deeds`); `oracle` computes the expected outputs.
"""
