"""Random scripts that bind, export, hide and take away A to D in every kind of statement, and launch in between.

They branch on E1, E2 and E3, which only who starts them can have set: run under all outsides, each launch that happens
has to be one that the walk leaves room for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product

NAMES = ("A", "B", "C", "D")
OUTSIDE = ("E1", "E2", "E3")
VALUES = ("1", "2", "'x y'", "''", "x", '"a  b"', "03")
MOST_STATEMENTS = 6
DEEPEST = 3


def outsides(seed: int | None = None) -> Iterator[dict[str, str]]:
    """Every combination of what E1, E2 and E3 may be; for a seed four of them, of which each value is in two."""
    for number, values in enumerate(product(("", "1"), repeat=len(OUTSIDE))):
        if seed is None or number.bit_count() % 2 == seed % 2:
            yield {name: value for name, value in zip(OUTSIDE, values, strict=True) if value}


def script(seed: int) -> str:
    """One script, the same for the same seed."""
    return _Writer(random.Random(seed)).whole()


class _Writer:
    """Writes one script. A launch has its number for an argument, which tells launches apart."""

    def __init__(self, choices: random.Random) -> None:
        self.choices = choices
        self.launches = 0
        self.functions: list[str] = []
        self.files = 0
        self.in_function = False

    def whole(self) -> str:
        lines = self.body(0, self.choices.randint(4, 10))
        return "\n".join([*lines, self.launch(), ""])

    def pick(self, *options: str) -> str:
        return self.choices.choice(options)

    def name(self) -> str:
        return self.choices.choice(NAMES)

    def value(self) -> str:
        """A word that is assigned, or given as an argument."""
        n, m = self.name(), self.name()
        return self.pick(
            *VALUES, f'"${n}"', f'"${n}{m}"', f'"${n}${m}"', f'"${{{n}:-{m}}}"', f'"${{{n}-q}}"', f'"${{{n}:+y}}"',
            f'"${{{n}+z}}"', f'"${{{n}#x}}"', f'"${{{n}%y}}"', f'"${{{n}:=d}}"', '"$1"', '"${1:-n}"', '"$#"', '"$*"',
            f'"$(echo ${n})"', f'"$(echo "${n}" t)"', '"$E1"', '"${E2:-e}"', '"${E3:+f}"', f'"${{#{n}}}"', "$((1 + 1))",
            '"${L[0]}"', '"${L[1]}"', f'"${{{n}/x/y}}"', f'"${{{n}:0:1}}"',
        )  # fmt: skip

    def condition(self) -> str:
        e, n = self.choices.choice(OUTSIDE), self.name()
        return self.pick(
            f'[ -n "${e}" ]', f'[ -z "${e}" ]', f'[ "${e}" = 1 ]', f'[ "${e}" != 1 ]', f"[[ ${e} ]]", f"[[ -v {e} ]]",
            f'[ "${n}" ]', f'[ -z "${n}" ]', f'[ "${n}" = 1 ]', f'[ "${n}" != x ]', f"[[ ${n} == x* ]]", f"[[ -v {n} ]]",
            f'[ -n "${{{n}+x}}" ]', f'[ -n "${{{n}:+x}}" ]', f'[ "${e}" = 1 -a "${n}" = 1 ]', f'[ "${n}" = 2 -o "${e}" = 1 ]',
            f"[[ ${e} && ${n} != 1 ]]", f"! [[ -v {n} ]]", '[ "$#" = 1 ]', '[ "$1" = 1 ]', f'[ "${n}" -eq 1 ]',
            "true", "false", f'test "${e}"', f'([ "${e}" ])', f'{{ [ "${e}" ]; }}', f'[ -n "${e}" ] && [ "${n}" ]',
            f'[ -n "${e}" ] || [ "${n}" ]', f'case "${e}" in 1) true;; *) false;; esac',
        )  # fmt: skip

    def launch(self) -> str:
        self.launches += 1
        run = f"torchrun train.py {self.launches}"
        n, m = self.name(), self.name()
        return self.pick(
            run, run, run, f"{n}={self.value()} {run}", f"env -u {n} {run}", f"env {n}={self.value()} {run}",
            f"bash -c 'unset {n}; {run}'", f"bash -c '{n}=7 {run}'", f"({run})", f"srun {run}", f"echo | {run}",
            f"{n}=5 {m}=6 {run}", f"eval '{run}'", f"bash <<'E'\nexport {n}=h\n{run}\nE", f"bash -s <<'E'\nexport {n}=i\n{run}\nE",
        )  # fmt: skip

    def body(self, depth: int, count: int) -> list[str]:
        return [self.statement(depth) for _ in range(count)]

    def block(self, depth: int) -> str:
        return "\n".join(self.body(depth + 1, self.choices.randint(1, 3)))

    def statement(self, depth: int) -> str:
        kinds: list[Callable[[int], str]] = [self.plain] * 6
        if depth < DEEPEST:
            kinds += [
                self.branch,
                self.branch,
                self.chain,
                self.loop,
                self.nested,
                self.choice,
                self.function,
                self.called,
            ]
        return self.choices.choice(kinds)(depth)

    def plain(self, depth: int) -> str:
        """A statement that holds no other."""
        n, m, v = self.name(), self.name(), self.value()
        options = [
            f"{n}={v}", f"export {n}={v}", f"export {n}={v} {m}={self.value()}", f"export {n}", f"unset {n}", f"{n}+={v}",
            f"declare -x {n}={v}", f"declare +x {n}", f"export -n {n}", f"declare {n}={v}", f": ${{{n}:={v.strip(chr(34))}}}",
            "set -a", "set +a", f"set -- {v} {self.value()}", "shift", "set --", f"printf -v {n} %s {v}",
            f"read {n} <<< {v}", f"L=({v} {self.value()})", f"L+=({v})", f"eval '{n}={v.replace(chr(39), '')}'",
            f"eval \"export {n}=w{self.choices.randint(0, 9)}\"", f"{n}={v} external", f"failing || export {n}={v}",
            f"for {n} in 1 2; do :; done", f"X={v}; export {n}=$X", f"set -- ${n}; export {m}=\"$1\"",
            f"export {n}={v} && export {m}=1", f"x=$(export {n}=9; echo 1)", f"(export {n}={v})", f"{n}=({v}); unset {n}",
            "[ \"$E1\" ] || exit 0" if self.choices.random() < 0.2 else f"export {n}",
            self.launch(), self.launch(), self.sourced(),
        ]  # fmt: skip
        if self.in_function:
            options += [f"local {n}={v}", f"local {n}", f"local -x {n}={v}", "return", f"declare -g {n}={v}", "shift"]
        return self.choices.choice(options)

    def sourced(self) -> str:
        self.files += 1
        n, file = self.name(), f"w{self.files}.sh"
        how = self.pick(f". ./{file}", f"source {file} s", f"set -a; . ./{file}; set +a")
        return self.pick(
            f"echo 'export {n}=s' > {file}; {how}", f"cat > {file} <<'E'\n{n}=t\nexport {self.name()}=\"$1\"\nE\n{how}",
            f'echo "{n}=$E1" > {file}; {how}', "source env.sh", "set -a; . ./env.sh; set +a",
        )  # fmt: skip

    def branch(self, depth: int) -> str:
        first = f"if {self.condition()}; then\n{self.block(depth)}\n"
        middle = f"elif {self.condition()}; then\n{self.block(depth)}\n" if self.choices.random() < 0.2 else ""
        last = f"else\n{self.block(depth)}\n" if self.choices.random() < 0.5 else ""
        return f"{first}{middle}{last}fi"

    def chain(self, depth: int) -> str:
        one, other = (f"{{\n{self.block(depth)}\n}}" for _ in range(2))
        c = self.condition()
        return self.pick(
            f"{c} && {one}", f"{c} || {one}", f"if {c}; then {one}; fi", f"{c} && export {self.name()}=k || {other}"
        )

    def loop(self, depth: int) -> str:
        inside, c = self.block(depth), self.condition()
        return self.pick(
            f"for i in 1 2; do\n{inside}\ndone", f"for i in $E1 z; do\n{inside}\ndone", f"for i in $E2; do\n{inside}\ndone",
            f"for i in 1 2; do\n{c} && break\n{inside}\ndone", f"for i in 1 2 3; do\n{c} && continue\n{inside}\ndone",
            f"while true; do\n{inside}\nbreak\ndone", f"for i in \"$@\"; do\n{inside}\ndone",
            f"for i in 1 2; do\n{inside}\n{c} && break\ndone",
        )  # fmt: skip

    def nested(self, depth: int) -> str:
        inside = self.block(depth)
        return self.pick(f"(\n{inside}\n)", f"{{\n{inside}\n}}", f"{{\n{inside}\n}} | cat", f"echo | {{\n{inside}\n}}",
                         f"{{\n{inside}\n}} > log", f"( {self.condition()} && exit\n{inside}\n)")  # fmt: skip

    def choice(self, depth: int) -> str:
        subject = self.pick(f'"${self.name()}"', '"$E1"', '"$1"', '"${E2:-1}"')
        return f"case {subject} in\n1|x*) {self.block(depth)} ;;\n'') {self.block(depth)} ;;\n*) {self.block(depth)} ;;\nesac"

    def function(self, depth: int) -> str:
        name = f"f{len(self.functions)}"
        around, self.in_function = self.in_function, True
        inside = self.block(depth)
        self.in_function = around
        self.functions.append(name)
        return f"{name}() {{\n{inside}\n}}\n{self.called(depth, name)}"

    def called(self, depth: int, name: str = "") -> str:
        """A call of a function that stands above."""
        if not name and not self.functions:
            return self.plain(depth)
        name = name or self.choices.choice(self.functions)
        v = self.value()
        return self.pick(name, f"{name} {v}", f"{name} $E1 {v}", f"{self.name()}={v} {name}", f"({name} {v})",
                         f"[ \"$E2\" ] && {name}", f"{name} \"$@\"")  # fmt: skip
