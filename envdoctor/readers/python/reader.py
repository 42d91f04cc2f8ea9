"""Reads Python: settings of environments, uses of variables, calls, launches and imports, from the syntax tree.

Nothing is imported or run. A file that cannot be parsed gives a problem, and its plain assignments line by line.
"""

from __future__ import annotations

from envdoctor.core.facts import FileFacts
from envdoctor.core.source import Source
from envdoctor.readers.python.calls import Calls
from envdoctor.readers.python.emit import Emitter
from envdoctor.readers.python.names.code import Code, parse
from envdoctor.readers.python.names.scopes import outline
from envdoctor.readers.python.walk import Walk

SETTING_TOKENS = (
    "env", "Env", "ENV", "export ", "system(", "subprocess", "popen", "mpirun", "docker run", "srun ", "#!/", "flag",
    '"-x', "'-x", '"-e"', "'-e'",
)  # fmt: skip
"""A file without any of these holds no setting, no use and no launch."""


def read(source: Source, kind: str) -> FileFacts:
    """All facts of a Python file, each list in source order.

    `order` grows with the statement a fact comes into force at; it has gaps. Settings of a mapping that is applied to
    `os.environ` elsewhere stand where they are written and have the order of the statement that applies them.
    """
    return _read(source, kind, with_calls=True)


def read_settings(source: Source) -> FileFacts:
    """Settings, uses and launches of a Python file, without calls, definitions and imports: the cheap half."""
    if not any(token in source.text for token in SETTING_TOKENS):
        return FileFacts(source.path, "python")
    return _read(source, "python", with_calls=False)


def _read(source: Source, kind: str, with_calls: bool) -> FileFacts:
    facts = FileFacts(source.path, kind)
    code = Code(source)
    tree, problem = parse(code)
    if problem is not None:
        facts.problems.append(problem)
    if tree is None:
        from envdoctor.readers.python.fallback import read_lines

        read_lines(code, facts)
        return facts
    emit = Emitter(code, outline(tree, code), facts)
    Walk(emit, Calls(emit) if with_calls else None).run()
    facts.settings.sort(key=lambda fact: fact.order)
    facts.launches.sort(key=lambda fact: fact.order)
    facts.uses.sort(key=lambda fact: fact.order)
    emit.outline.release()
    return facts
