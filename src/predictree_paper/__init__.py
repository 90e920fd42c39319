"""The paper's experiments: its data, the algorithms of its tables, its protocol and its tables.

``predictree reproduce NAME`` runs one of them; ``benchmarks/paper/README.md`` has the commands.
`theorem` has the paper's loss bound. The methods that nobody else maintains are baselines of our
own, written for clarity; each module says what is its paper's and what had to be settled. Nothing
in `predictree` knows of this package: it uses public names alone, and its command is found as an
entry point.
"""
