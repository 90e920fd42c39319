"""The paper's experiments: its data, the algorithms of its tables, its protocol and its tables.

``predictree reproduce NAME`` runs one of them; `benchmarks/paper/README.md` has the commands.
"""
