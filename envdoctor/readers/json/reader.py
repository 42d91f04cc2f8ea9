"""JSON files: runtime environments of Ray, VS Code, dev containers, ECS, SageMaker, manifests, and any environment.

Read as people write it: comments, trailing commas, text that is cut off, several values in a row. Equal keys are all
kept.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from envdoctor.core.facts import FileFacts, Scope
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.json.deepspeed import configurations
from envdoctor.readers.json.document import JsonDocument
from envdoctor.readers.json.scan import scan
from envdoctor.readers.json.walk import JsonWalker
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector
from envdoctor.readers.shared.nodes import MappingNode, SequenceNode, TreeNode
from envdoctor.readers.shared.template_mask import mask
from envdoctor.readers.yaml.keys import names_environment
from envdoctor.readers.yaml.kinds import CONFIGURATION, ManifestKind, YamlContext, keys_of, kind_of_keys, kind_of_list
from envdoctor.readers.yaml.walk import BUDGET

LARGEST_SCANNED = 500_000
"""Characters above which only the environments in a file are scanned: such a file is data, with a million nodes."""

ECS = ManifestKind("configuration", "task", "ECS")
SAGEMAKER = ManifestKind("configuration", "task", "SageMaker")
BATCH = ManifestKind("configuration", "task", "AWS Batch")
VS_CODE = ManifestKind("configuration", "configuration", "VS Code")
DEV_CONTAINER = ManifestKind("configuration", "configuration", "dev container")

_KEY = regex(r'"([A-Za-z_][\w.-]{2,60})"\s*:\s*(?=[\[{])')
_COMMAND = regex(r'"(?:command|commands|args|script|scripts|entryPoint|entrypoint)"\s*:\s*["\[{]')
_KEYS = (
    (ECS, {"containerDefinitions", "taskDefinition", "taskDefinitionArn", "ContainerDefinitions"}),
    (SAGEMAKER, {"AlgorithmSpecification", "TrainingJobName", "TrainingJobDefinition", "ModelPackageName"}),
    (BATCH, {"jobDefinitionName", "containerProperties", "nodeProperties", "jobQueue"}),
)  # fmt: skip
_CONTAINER = {"environment", "image"}


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one JSON file."""
    out = Collector(source, kind)
    if len(source.text) > LARGEST_SCANNED:
        _environments(source, out)
        if out.facts.settings or _COMMAND.search(source.text):
            out.problem(f"larger than {LARGEST_SCANNED} characters: only environments were read", 0, 0)
    else:
        _whole(source, out)
    if out.full:
        out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
    return out.facts


def _whole(source: Source, out: Collector) -> None:
    masked = mask(source.text)
    scanned = scan(masked.text)
    document = JsonDocument(source, masked)
    document.comment_sign = "//"
    if scanned.problem:
        message, at = scanned.problem
        out.problem(f"not quite JSON: {message}", at, at)
    budget = [BUDGET]
    title = PurePosixPath(source.path).name.split(".", 1)[0]
    for root in scanned.roots:
        JsonWalker(document, out, budget).root(root, YamlContext(kind_of(document, root)), title)
        configurations(document, root, out, budget)


def _environments(source: Source, out: Collector) -> None:
    """Environments in the text of a large file, one after another."""
    document = JsonDocument(source)
    walker = JsonWalker(document, out, [BUDGET])
    at = 0
    while (match := _KEY.search(source.text, at)) and not out.full:
        at = match.end()
        if names_environment(match[1]):
            scanned = scan(source.text, at, only_one=True)
            for root in scanned.roots:
                walker.environments.read(root, YamlContext(CONFIGURATION, Scope("manifest", match[1]), (match[1],)))
                at = root.end_mark.index


def kind_of(document: JsonDocument, root: TreeNode) -> ManifestKind:
    """The kind of a document, by its keys and by the name of its file."""
    if isinstance(root, SequenceNode):
        keys = keys_of(document, root.value[0] if root.value else None).keys()
        return ECS if keys >= _CONTAINER else kind_of_list(document, root)
    if not isinstance(root, MappingNode):
        return CONFIGURATION
    by_name = keys_of(document, root)
    for kind, marks in _KEYS:
        if marks & by_name.keys():
            return kind
    path = PurePosixPath(document.source.path)
    if "devcontainer" in path.name or ".devcontainer" in path.parts:
        return DEV_CONTAINER
    if ".vscode" in path.parts or path.name in ("launch.json", "tasks.json") or path.suffix == ".code-workspace":
        return VS_CODE
    return kind_of_keys(document, by_name) or CONFIGURATION
