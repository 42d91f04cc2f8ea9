"""What the parameters of rules hold: one typed record for each code, by topic.

The records say which keys there are, which may be left out, and what each holds; `validation` holds a table against
them. The string under a key explains it to those who write rules: docs/own-rules.md is made of these.
"""
