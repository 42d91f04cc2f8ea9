"""`dataclass`, `field`, `fields`, `replace` and `MISSING` of the standard library, for a program that starts often.

A scan of one small file imports some 80 record classes. The standard library builds six methods of each by `exec` when
the class is made (about 1 ms a class), and imports `inspect`, `ast`, `dis` and `tokenize` for that: more than the rest
of the scan. With `envdoctor.core.record_classes` a class costs microseconds, and its `__init__` is built when the first
object is made. To mypy these are the names of the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import MISSING, dataclass, field, fields, replace
else:
    from envdoctor.core.record_classes import MISSING, dataclass, field, fields, replace

__all__ = ["MISSING", "dataclass", "field", "fields", "replace"]
