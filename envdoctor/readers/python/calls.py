"""Calls, attribute assignments, definitions and imports of a Python file."""

from __future__ import annotations

import ast
import builtins
import sys
from typing import Literal

from envdoctor.core.facts import Argument, Call, Definition, Inclusion
from envdoctor.readers.python.emit import Emitter
from envdoctor.readers.python.environment.handed import Handed
from envdoctor.readers.python.names.names import children
from envdoctor.readers.python.names.scopes import Where, import_prefix

INTERESTING = {
    "accelerate", "cupy", "datasets", "deepspeed", "flash_attn", "flax", "hashlib", "horovod", "jax", "lightning",
    "lightning_fabric", "megatron", "mpi4py", "multiprocessing", "numpy", "os", "pytorch_lightning", "random", "ray",
    "secrets", "sklearn", "subprocess", "sys", "tensorflow", "time", "torch", "torchvision", "transformer_engine",
    "transformers", "uuid",
}  # fmt: skip
"""Top-level modules whose calls are always facts; those of a project's own modules are too."""
OTHERS = {
    "absl", "aiohttp", "attr", "attrs", "boto3", "bs4", "click", "cv2", "django", "docker", "einops", "fastapi", "fire",
    "flask", "grpc", "h5py", "httpx", "hydra", "jinja2", "matplotlib", "mock", "networkx", "omegaconf", "packaging",
    "pandas", "PIL", "plotly", "psutil", "pyarrow", "pydantic", "pytest", "regex", "requests", "rich", "scipy",
    "seaborn", "setuptools", "six", "sympy", "tabulate", "termcolor", "tiktoken", "toml", "tqdm", "typer",
    "typing_extensions", "ujson", "wandb", "yaml",
}  # fmt: skip
"""Well-known packages that neither draw random numbers nor touch the accelerator by themselves."""
DULL = ("os.path.", "os.environ", "os.getenv", "sys.path", "sys.std")
METHODS = {
    "Process", "_register_builtin_comm_hook", "all_reduce", "backward", "compile", "cuda", "fit", "init", "launch",
    "load_state_dict", "manual_seed", "manual_seed_all", "no_sync", "options", "register_comm_hook", "remote", "seed",
    "set_epoch", "shard", "shuffle", "split", "step", "submit", "train", "train_batch", "train_test_split",
    "use_deterministic_algorithms", "zero_grad",
}  # fmt: skip
"""Methods kept although the object cannot be told: they say that a file trains, draws or sends to workers."""
BUILTINS = frozenset(dir(builtins))
STAR_TYPES = {"typing", "tkinter", "math"}
"""Modules whose names are imported all at once and that define nothing of a project."""
LITERALS = (str, int, float, bool)
NAME_LIMIT = 24
"""Parts of an argument that are looked at for names."""


Kind = Literal["call", "assign"]


class Calls:
    """Finds the calls of one file."""

    __slots__ = ("_starred", "_wanted", "emit", "handed", "names", "values")

    def __init__(self, emit: Emitter) -> None:
        self.emit = emit
        self.names = emit.names
        self.values = emit.values
        self.handed = Handed(emit)
        self._wanted: dict[str, bool] = {}
        self._starred = any(
            type(node) is ast.ImportFrom and node.names[0].name == "*" and (node.module or "") not in STAR_TYPES
            for node, _ in emit.outline.statements
        )

    def call(self, node: ast.Call, dotted: str | None, where: Where) -> None:
        """State a call, if it is of a module worth knowing or of the file's own."""
        if dotted is None:
            function = node.func
            if not isinstance(function, ast.Attribute) or function.attr not in METHODS:
                return
            dotted = f"?.{function.attr}"
        else:
            if node.keywords:
                self.handed.call(node, dotted, where)
            if not self.wanted(dotted):
                return
        if dotted == "setattr" and len(node.args) == 3:
            self._setattr(node, where)
            return
        arguments = [self._argument(argument, None, where) for argument in node.args]
        arguments += [self._argument(keyword.value, keyword.arg or "**", where) for keyword in node.keywords]
        self._state(dotted, "call", tuple(arguments), node, where)

    def assigned(self, target: ast.Attribute, value: ast.expr, whole: ast.stmt, where: Where) -> None:
        """State an assignment to an attribute of a module (`torch.backends.cudnn.benchmark = True`)."""
        dotted = self.names.resolve(target, where)
        if dotted and "()" not in dotted and dotted[0] != "." and self.wanted(dotted):
            self._state(dotted, "assign", (self._argument(value, None, where),), whole, where)

    def _setattr(self, node: ast.Call, where: Where) -> None:
        base, name = self.names.resolve(node.args[0], where), self.values.text(node.args[1], where)
        if base and name and self.wanted(base):
            self._state(f"{base}.{name}", "assign", (self._argument(node.args[2], None, where),), node, where)

    def _state(
        self, name: str, kind: Kind, given: tuple[Argument, ...], node: ast.expr | ast.stmt, where: Where
    ) -> None:
        emit, block = self.emit, where.block
        place, order, branches = emit.code.place(node), emit.order(where), block.branches(emit.code)
        call = Call(name, kind, given, place, order, block.scope.fact(), branches, emit.comment_of(node))
        emit.facts.calls.append(call)

    def wanted(self, dotted: str) -> bool:
        """Whether calls by this name are facts."""
        known = self._wanted.get(dotted)
        if known is None:
            root = dotted.split(".", 1)[0].split("(", 1)[0]
            telling = "()" not in dotted or root not in INTERESTING or _is_telling(dotted)
            known = self._wanted[dotted] = telling and self._wanted_root(root) and not dotted.startswith(DULL)
        return known

    def _wanted_root(self, root: str) -> bool:
        if root in INTERESTING or root in ("", "setattr"):
            return True
        if self._starred and root not in self.emit.outline.imported and root not in BUILTINS:
            return self.emit.outline.module.find(root) is None  # it came with a `from x import *`
        return root in self.emit.outline.imported and root not in OTHERS and root not in sys.stdlib_module_names

    def _argument(self, node: ast.expr, keyword: str | None, where: Where) -> Argument:
        text, place = self.emit.code.written(node)
        if isinstance(node, ast.Constant):
            value = node.value
            if isinstance(value, LITERALS):
                return Argument(keyword, text, value, True, place)
            return Argument(keyword, text, None, value is None, place)
        if isinstance(node, (ast.Name, ast.Attribute, ast.UnaryOp)):
            constant = literal(node) or literal(self.values.constant(node, where))
            if constant is not None:
                return Argument(keyword, text, constant.value, True, place)  # type: ignore[arg-type]
        return Argument(keyword, text, None, False, place, self._names(node, where))

    def _names(self, node: ast.expr, where: Where) -> tuple[str, ...]:
        """The dotted names in an argument, outermost first, without those that stand inside others."""
        found: dict[str, None] = {}
        pending: list[ast.AST] = [node]
        count = 0
        while pending and count < NAME_LIMIT:
            part = pending.pop()
            kind = type(part)
            count += 1
            if kind is ast.Name or kind is ast.Attribute or kind is ast.Call:
                dotted = self.names.resolve(part, where)
                if dotted is not None:
                    found[dotted] = None
                if isinstance(part, ast.Call):
                    pending += reversed([*part.args, *(k.value for k in part.keywords)])
                    pending += [part.func.value] if dotted is None and isinstance(part.func, ast.Attribute) else []
                elif dotted is None and isinstance(part, ast.Attribute):
                    pending.append(part.value)
            elif kind is not ast.Constant and part is not None:
                children(part, kind, pending)
        return tuple(found)

    def definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, where: Where) -> None:
        """State a function or a class."""
        block = where.block
        name = f"{block.scope.name}.{node.name}" if block.scope.name else node.name
        scope = self.emit.outline.functions[name]
        decorators = self._dotted(node.decorator_list, where)
        bases = self._dotted(node.bases, where) if isinstance(node, ast.ClassDef) else ()
        kind: Literal["class", "function"] = "class" if isinstance(node, ast.ClassDef) else "function"
        place, end_line = self.emit.code.heading(node)
        self.emit.facts.definitions.append(
            Definition(
                name, kind, place, self.emit.order(where), end_line,
                scope.parameters, decorators, bases, block.scope.fact(), block.branches(self.emit.code),
            )
        )  # fmt: skip

    def _dotted(self, nodes: list[ast.expr], where: Where) -> tuple[str, ...]:
        found = [self.names.resolve(node, where) or self.emit.code.segment(node) for node in nodes]
        return tuple(found)

    def imports(self, node: ast.Import | ast.ImportFrom, where: Where) -> None:
        """State what an import pulls in: a dotted name for each imported name, with its dots where relative."""
        if isinstance(node, ast.Import):
            targets = [(alias.name, alias.asname or alias.name) for alias in node.names]
        else:
            prefix = import_prefix(node)
            targets = [(_imported(prefix, alias.name), alias.asname or alias.name) for alias in node.names]
        place = self.emit.code.place(node)
        branches = where.block.branches(self.emit.code)
        scope = where.block.scope.fact()
        for target, bound in targets:
            order = self.emit.order(where)
            self.emit.facts.inclusions.append(Inclusion("import", target, place, order, branches, scope, bound))


def _is_telling(dotted: str) -> bool:
    """Whether a method of what a call returned is worth knowing: one that trains, seeds or draws, or the forward pass
    of a module (`torch.nn.Linear().cuda()` is a call of that object)."""
    if dotted.startswith("torch.nn.") and dotted.endswith(("()", ".to")):
        return True
    return dotted.rsplit(".", 1)[-1] in METHODS or "random" in dotted or "Generator" in dotted


def _imported(prefix: str, name: str) -> str:
    """The dotted name of `from prefix import name`; all names of a module are the module."""
    if name != "*":
        return prefix + name
    return prefix if set(prefix) == {"."} else prefix[:-1]


def literal(node: ast.AST | None) -> ast.Constant | None:
    """A literal str, int, float or bool, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return ast.Constant(-value) if isinstance(value, (int, float)) else None
    if isinstance(node, ast.Constant) and isinstance(node.value, LITERALS):
        return node
    return None
