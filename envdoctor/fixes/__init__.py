"""Putting findings right: which edits each takes (`fixer`), how they become bytes (`spans`), and when they are written.

`fixer` asks one module for each kind of edit; `apply` makes the edits in memory, pass by pass, and `verify` holds back
what would not parse; `files` writes; `ignores` writes comments instead. Only `apply` and `files` touch the disk.
"""
