"""Uses: where a script reads a variable and does something with it, and where it does not."""

from __future__ import annotations

import pytest
from shell_notation import read, uses

USED = [
    "OTHER=$NAME",
    'export OTHER="${NAME:-1}/x"',
    "export OTHER=${NAME}",
    '[ "$NAME" = 1 ] && cmd',
    '[[ "${NAME}" == a* ]]',
    '[ -n "$NAME" ]',
    "[[ -v NAME ]]",
    "if (( NAME > 1 )); then cmd; fi",
    "X=$((NAME + 1))",
    "cmd --flag $NAME",
    "cmd --flag=${NAME}",
    'cmd "a $NAME b"',
    "mpirun -x OTHER=$NAME ./a",
    "for i in $NAME; do cmd; done",
    'case "$NAME" in a) cmd;; esac',
    "X=$(echo $NAME | cut -c1)",
    "echo $NAME | grep -q x",
    "x=${#NAME}",
    "cat > config.unknown <<EOF\nkey: $NAME\nEOF",
    'bash -c "cmd $NAME"',
    "cmd <(other $NAME)",
    "while [ $NAME ]; do cmd; done",
]


@pytest.mark.parametrize("text", USED)
def test_use(text: str) -> None:
    assert uses(text) == ["NAME"]


NOT_USED = [
    "echo $NAME",
    'echo "the value is ${NAME}" >&2',
    "printf '%s\\n' \"$NAME\"",
    'log_info "$NAME"',
    "echo $NAME | tee run.log > /dev/null; true",
    "NAME=${NAME:-1}",
    'export NAME="${NAME}"',
    "export NAME=/x:$NAME",
    ": ${NAME:=1}",
    "docker run -e NAME=$NAME image",
    'docker run -e "NAME=${NAME}" image',
    "mpirun -x NAME ./a",
    "srun --export=ALL,NAME=$NAME cmd",
    "cmd '$NAME' \\$NAME",
    "# $NAME",
    "cat <<EOF\n$NAME\nEOF",
    "cat > x.sh <<'EOF'\necho $NAME\nEOF",
    'if [ -z "$NAME" ]; then export NAME=1; fi',
    "cmd $name $NAM $1 $@ $PWD",
    'echo "NAME=$NAME" >> x.env',
    'ray job submit --runtime-env-json="{\\"env_vars\\": {\\"NAME\\": \\"$NAME\\"}}" -- cmd',
]


@pytest.mark.parametrize("text", NOT_USED)
def test_no_use(text: str) -> None:
    assert uses(text) == []


def test_an_empty_test_counts_where_nothing_is_assigned() -> None:
    assert uses('if [ -z "$NAME" ]; then exit 1; fi') == ["NAME"]


def test_a_use_is_stated_once_and_at_its_name() -> None:
    facts = read('X=$(cmd "$NAME")\neval "cmd ${OTHER}"\nsrun bash -c "cmd $THIRD"')
    assert [(use.name, use.place.line, use.place.column) for use in facts.uses] == [
        ("NAME", 1, 11),
        ("OTHER", 2, 13),
        ("THIRD", 3, 20),
    ]
