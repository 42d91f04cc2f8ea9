"""PyYAML's part: text composed into nodes with marks. It builds no objects, so that no tag of a file can run code."""

from __future__ import annotations

from typing import cast

import yaml
from yaml.composer import ComposerError

from envdoctor.core.regexes import regex
from envdoctor.readers.shared.nodes import MappingNode, ScalarNode, SequenceNode, TreeNode

LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""libyaml where PyYAML was built with it; the base resolver, since the text of a scalar is what a process gets."""

_ANCHOR = regex(r"&([\w-]+)")
_ALIAS = regex(r"(?<=[\s\[,])\*([\w-]+)")

ScalarNode.register(yaml.ScalarNode)
SequenceNode.register(yaml.SequenceNode)
MappingNode.register(yaml.MappingNode)


class NotYamlError(ValueError):
    """Text that is no YAML; `index` is the offset at which that shows."""

    def __init__(self, problem: str, index: int) -> None:
        super().__init__(problem)
        self.index = index


def compose(text: str) -> TreeNode | None:
    """The root node of one document; None for an empty one. Raises NotYamlError."""
    try:
        return _composed(text)
    except (yaml.YAMLError, RecursionError) as error:
        reason = getattr(error, "problem", None) or type(error).__name__
        raise NotYamlError(reason, getattr(getattr(error, "problem_mark", None), "index", 0)) from error


def _composed(text: str) -> TreeNode | None:
    try:
        return cast("TreeNode | None", yaml.compose(text, Loader=LOADER))
    except ComposerError:
        return cast("TreeNode | None", yaml.compose(_without_unknown_aliases(text), Loader=LOADER))


def _without_unknown_aliases(text: str) -> str:
    """Text with the aliases of anchors that stand in another file (GitLab CI includes) made plain words."""
    anchors = {match[1] for match in _ANCHOR.finditer(text)}
    return _ALIAS.sub(lambda match: match[0] if match[1] in anchors else "_" + match[1], text)
