"""Configurations of DeepSpeed in JSON: each entry is an assignment to `:deepspeed.` and its keys, joined by dots."""

from __future__ import annotations

from envdoctor.core.facts import Argument, Call
from envdoctor.readers.json.document import JsonDocument
from envdoctor.readers.python.environment.handed import CONFIGURATION
from envdoctor.readers.shared.collector import Collector
from envdoctor.readers.shared.nodes import MappingNode, ScalarNode, TreeNode
from envdoctor.readers.yaml.nodes import items

MARKS = {
    "zero_optimization", "train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer", "communication_data_type",
    "train_batch_size", "gradient_accumulation_steps", "gradient_clipping", "fp16", "bf16", "bfloat16", "optimizer",
    "scheduler", "steps_per_print", "wall_clock_breakdown", "activation_checkpointing", "prescale_gradients",
}  # fmt: skip
"""Keys of such a configuration. One alone says nothing: models and schedulers have an `optimizer` too."""
FEWEST = 3
OWN = {"zero_optimization", "train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer"}
"""Keys that no other program has: with one of them, one more mark is enough."""
HOLDERS = ("deepspeed", "deepspeed_config", "ds_config")
DEEPEST = 8


def configurations(document: JsonDocument, root: TreeNode, out: Collector, budget: list[int]) -> None:
    """State the entries of a document that is a configuration of DeepSpeed, or that holds one."""
    if not isinstance(root, MappingNode):
        return
    listed = items(document, root, budget)
    keys = {key for key, _, _ in listed}
    if _is_one(keys):
        _entries(document, root, out, budget, CONFIGURATION, DEEPEST)
        return
    for key, _, value in listed:
        if key in HOLDERS and isinstance(value, MappingNode):
            _entries(document, value, out, budget, CONFIGURATION, DEEPEST)


def _is_one(keys: set[str]) -> bool:
    marks = MARKS & keys
    return len(marks) >= FEWEST or (len(marks) > 1 and bool(marks & OWN))


def _entries(
    document: JsonDocument, node: MappingNode, out: Collector, budget: list[int], prefix: str, depth: int
) -> None:
    for key, _, value in items(document, node, budget):
        if isinstance(value, MappingNode) and depth:
            _entries(document, value, out, budget, f"{prefix}.{key}", depth - 1)
        elif isinstance(value, ScalarNode):
            start, end = document.span(value)
            written, place = document.source.text[start:end], document.source.place(start, end)
            known, literal = _literal(document, value)
            given = Argument(None, written, literal, known, place)
            out.facts.calls.append(Call(f"{prefix}.{key}", "assign", (given,), place, out.order))
            out.order += 1


def _literal(document: JsonDocument, node: ScalarNode) -> tuple[bool, str | float | bool | None]:
    """Whether a value is known, and what Python's `json` makes of it."""
    text = document.text(node)
    if node.style:
        return True, text
    if text in ("true", "false", "null"):
        return True, {"true": True, "false": False, "null": None}[text]
    try:
        return True, float(text) if any(c in text for c in ".eE") else int(text)
    except ValueError:
        return False, None
