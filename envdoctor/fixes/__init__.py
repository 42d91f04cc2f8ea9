"""Putting findings right: which edits each takes, how they become bytes, and when they are written.

`registry` says which function mends the findings of a rule. Each is called `(finding, facts, workshop)`: the workshop
hands out lines, settings, programs and what is known. By topic: `names`, `values`, `delivery`, `levels`, `options`, and
`python` for what libcst says of a program (`python.tree`); `remove` takes a setting out of lines.
`fixer` calls them for all findings and attaches what they make; `notebook` maps a program onto the JSON that holds it.
`apply` makes the edits in memory, pass by pass: `spans` turns them into bytes, and `verify` holds back what would not
parse. `writing` writes; `ignores` writes comments instead. Only `apply` and `writing` touch the disk.
"""
