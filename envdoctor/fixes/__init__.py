"""Putting findings right: which edits each takes (`fixer`), how they become bytes (`spans`), and when they are written.

`fixer` asks one module for each kind of edit: `remove`, `values`, `forward` and `launches` work on lines, those of
`python` on what libcst says of a program (`python.tree`), and `notebook` maps a program onto the JSON that holds it.
`apply` makes the edits in memory, pass by pass, and `verify` holds back what would not parse; `writing` writes;
`ignores` writes comments instead. Only `apply` and `writing` touch the disk.
"""
