"""Text inside text: here-documents, strings that another shell runs, echo into files, and the places in them."""

from __future__ import annotations

import pytest
from shell_notation import launches, names, read, settings

from envdoctor.core.facts import FileFacts, Setting

HEREDOCS = [
    ("cat > job.sh <<EOF\nexport A=1\nEOF", ["set A=1 scope=file:job.sh via=export"]),
    ("cat <<EOF > job.sh && chmod +x job.sh\nexport A=1\nEOF", ["set A=1 scope=file:job.sh via=export"]),
    ("tee -a job.sh <<EOF\nexport A=1\nEOF", ["set A=1 scope=file:job.sh via=export"]),
    ("cat > .env <<EOF\nA=1\nEOF", ["set A=1 exported=unknown channel=env-file scope=file:.env"]),
    ("cat > nccl.conf <<EOF\nA=1\nEOF", ["set A=1 channel=conf-file scope=file:nccl.conf"]),
    ("cat > ~/.deepspeed_env <<EOF\nA=1\nEOF", ["set A=1 channel=env-file scope=file:~/.deepspeed_env via=deepspeed"]),
    ("cat <<EOF | sudo tee /etc/environment\nA=1\nEOF", ["set A=1 channel=env-file scope=file:/etc/environment"]),
    ("cat > job <<EOF\n#!/bin/bash\nA=1 cmd\nEOF", ["set A=1 scope=command:cmd"]),
    ("cat > $JOB <<EOF\n#SBATCH --nodes=2\nexport A=1\nEOF", ["set A=1 scope=file:$JOB via=export"]),
    ("cat > settings <<EOF\nA=1\nB=2\nEOF", [
        "set A=1 exported=unknown channel=env-file scope=file:settings",
        "set B=2 exported=unknown channel=env-file scope=file:settings",
    ]),
    ("cat <<'EOF' | bash\nexport A=1\nEOF", ["set A=1 scope=subshell:input 2:1 via=export"]),
    ("bash -s x <<EOF\nexport A=1\nEOF", ["set A=1 scope=subshell:input 2:1 via=export"]),
    ("sudo bash <<EOF\nexport A=1\nEOF", ["set A=1 scope=subshell:input 2:1 via=export"]),
    ("sbatch <<EOF\n#!/bin/bash\nexport A=1\nEOF", ["set A=1 scope=subshell:input 2:1 via=export"]),
    ("ssh host <<EOF\nexport A=1\nEOF", ["set A=1 scope=container:ssh 1:1 via=export"]),
    ("docker exec -i box bash <<EOF\nexport A=1\nEOF", ["set A=1 scope=container:docker exec 1:1 via=export"]),
    ("bash <<< 'export A=1'", ["set A=1 scope=subshell:input 1:10 via=export"]),
    ("cat > x.sh <<-EOF\n\texport A=1\n\tEOF", ["set A=1 scope=file:x.sh via=export"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), HEREDOCS)
def test_heredoc_by_where_it_goes(text: str, expected: list[str]) -> None:
    assert settings(text) == expected


NOTHING_READ = [
    "cat <<EOF\nexport A=1\nEOF",
    "cat >&2 <<EOF\nexport A=1\nEOF",
    "cat > /dev/null <<EOF\nexport A=1\nEOF",
    "cat > notes.txt <<EOF\nexport A=1\nEOF",
    "mysql db <<EOF\nA=1\nEOF",
    "python train.py <<EOF\nA=1\nEOF",
    "bash script.sh <<EOF\nA=1\nEOF",
    "cat <<EOF | grep x\nexport A=1\nEOF",
    "usage() {\n  cat <<EOF\nA=1 cmd\nEOF\n}",
]


@pytest.mark.parametrize("text", NOTHING_READ)
def test_heredoc_that_is_only_text(text: str) -> None:
    assert settings(text) == []


def test_escapes_of_an_unquoted_heredoc() -> None:
    facts = read('cat > job.sh <<EOF\nexport A=\\$B C=$D\nX=\\`cmd\\`\nsrun python x.py --id "\\$ID"\nEOF')
    assert [(f.name, f.value.text) for f in facts.settings] == [("A", "$B"), ("C", "$D"), ("X", "`cmd`")]
    assert facts.launches[0].words == ("srun", "python", "x.py", "--id", "$ID")
    assert facts.settings[1].name_place.column == 14


def test_a_quoted_heredoc_is_taken_as_it_is() -> None:
    (fact,) = read("cat > job.sh <<'EOF'\nexport A=\"\\$B\"\nEOF").settings
    assert fact.value.text == "$B"


def test_heredoc_that_goes_into_a_variable() -> None:
    text = "S=$(cat <<EOF\nexport A=1\nEOF\n)\nread -d '' T <<'EOF'\nexport B=1\nEOF\nsrun bash -c \"$S\"\nbash -c $T"
    assert names(text) == ["set S=?", "set A=1", "set B=1"]


def test_heredocs_of_other_kinds_go_to_their_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        'cat > x.py <<EOF\nimport os\nos.environ["A"] = "1"\nEOF\n'
        "cat > Dockerfile <<EOF\nFROM x\nENV B=1\nEOF\n"
        "python - <<EOF\nimport os\nos.environ['C'] = '1'\nEOF\n"
    )
    found = {(fact.name, fact.place.line) for fact in read(text).settings}
    assert found == {("A", 3), ("B", 7), ("C", 11)}


STRINGS = [
    ("bash -c 'export A=1'", "subshell:bash 1:9"),
    ('sh -lc "export A=1; cmd"', "subshell:sh 1:8"),
    ('srun bash -c "export A=1"', "subshell:bash 1:14"),
    ("ssh host 'export A=1; cmd'", "container:ssh 1:1"),
    ("ssh host export A=1", "container:ssh 1:1"),
    ("docker exec box bash -c 'export A=1'", "container:docker exec 1:1"),
    ("docker run image sh -c 'export A=1'", "container:docker run 1:1"),
    ("pdsh -w h 'export A=1'", "container:pdsh 1:1"),
    ("sbatch --wrap 'export A=1; cmd'", "subshell:sbatch 1:15"),
    ("su me -c 'export A=1'", "subshell:su 1:10"),
    ("eval 'export A=1'", "process:"),
    ("eval export A=1", "process:"),
    ("tmux new -d 'export A=1'", "container:tmux new 1:1"),
    ("parallel 'export A=1; cmd {}' ::: x", "subshell:command 1:10"),
]


@pytest.mark.parametrize(("text", "expected"), STRINGS)
def test_string_that_a_shell_runs(text: str, expected: str) -> None:
    (fact,) = [fact for fact in read(text).settings if fact.name == "A"]
    assert f"{fact.scope.kind}:{fact.scope.name}" == expected
    assert fact.exported == "yes"


def test_python_in_a_string() -> None:
    (fact,) = read("python -c \"import os; os.environ['A'] = '1'\"").settings
    assert (fact.name, fact.channel, fact.place.line) == ("A", "python-environ", 1)


def test_places_in_a_string_of_several_lines() -> None:
    text = 'srun bash -c "\n  set -e\n  export NCCL_A=\\"x y\\" \\\n    NCCL_B=1\n  torchrun t.py"'
    one, other = read(text).settings
    assert (one.name_place.line, one.name_place.column) == (3, 10)
    assert (other.name_place.line, other.name_place.column) == (4, 5)
    assert one.value.text == "x y"
    assert read(text).launches[-1].place.line == 5


def test_strings_inside_strings() -> None:
    text = "ssh h \"docker exec b bash -c 'export A=1; torchrun x.py'\""
    assert launches(text) == [
        "ssh -> docker exec b bash -c 'export A=1; torchrun x.py'",
        "docker exec -> bash -c export A=1; torchrun x.py",
        "torchrun -> x.py",
    ]
    (fact,) = read(text).settings
    assert (fact.name_place.column, fact.scope.name) == (38, "docker exec 1:8")


WRITTEN = [
    ('echo "A=1" >> ~/.deepspeed_env', ["set A=1 channel=env-file scope=file:~/.deepspeed_env via=deepspeed"]),
    ("echo A=1 > .env", ["set A=1 exported=unknown channel=env-file scope=file:.env"]),
    ('echo "export A=1" >> ~/.bashrc', ["set A=1 scope=file:~/.bashrc via=export"]),
    ('echo "export A=1" >> $TARGET', ["set A=1 scope=file:$TARGET via=export"]),
    ('echo "A=1" >> $GITHUB_ENV', ["set A=1 channel=ci scope=file:$GITHUB_ENV"]),
    ('echo "A=1" >> "${GITHUB_ENV}"', ["set A=1 channel=ci scope=file:${GITHUB_ENV}"]),
    ("printf 'A=%s\\nB=%d\\n' 1 2 > nccl.conf", [
        "set A=1 channel=conf-file scope=file:nccl.conf", "set B=2 channel=conf-file scope=file:nccl.conf",
    ]),
    ("printf '%s\\n' A=1 B=2 >> /etc/nccl.conf", [
        "set A=1 channel=conf-file scope=file:/etc/nccl.conf", "set B=2 channel=conf-file scope=file:/etc/nccl.conf",
    ]),
    ('echo -e "#!/bin/bash\\nexport A=1" > run.sh', ["set A=1 scope=file:run.sh via=export"]),
    ("echo A=1 | sudo tee -a /etc/environment", ["set A=1 channel=env-file scope=file:/etc/environment"]),
    ("echo 'export A=1' | ssh host 'cat >> ~/.bashrc'", ["set A=1 scope=file:~/.bashrc via=export"]),
    ("echo 'export A=1' | bash", ["set A=1 scope=subshell:input 1:6 via=export"]),
    ("{ echo A=1; echo B=2; } > x.env", [
        "set A=1 exported=unknown channel=env-file scope=file:x.env",
        "set B=2 exported=unknown channel=env-file scope=file:x.env",
    ]),
    ("for i in 1; do echo A=1; done > x.env", [
        "set A=1 exported=unknown channel=env-file scope=file:x.env branch=loop"
    ]),
    ('echo "A=$B" >> x.env', ["set A=<$B> exported=unknown channel=env-file scope=file:x.env"]),
    ('echo "A=1" >> results.csv', []),
    ('echo "A=1" >> $LOGFILE', []),
    ('echo "A=1" 2>> x.env', []),
    ("X=$(echo A=1)", ["set X=? exported=no"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRITTEN)
def test_what_is_written_into_files(text: str, expected: list[str]) -> None:
    assert settings(text) == expected


def at(facts: FileFacts, name: str) -> Setting:
    return next(fact for fact in facts.settings if fact.name == name)


def test_places_in_what_is_written() -> None:
    facts = read("echo \"export A='x y'\" >> ~/.bashrc\nprintf 'B=%s\\nC=2\\n' 1 > a.env")
    assert (at(facts, "A").name_place.column, at(facts, "A").value_place.column) == (14, 17)
    assert (at(facts, "B").name_place.column, at(facts, "B").value_place.column) == (9, 22)
    assert (at(facts, "C").name_place.line, at(facts, "C").name_place.column) == (2, 15)
