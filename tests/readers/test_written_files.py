"""Files that other files write or hold: here-documents, `echo`, ConfigMaps, cloud-init, Ansible, COPY, scripts in JSON."""

from __future__ import annotations

import pytest
from facts_shown import check_places, facts_of, shown_all

HERE = "cat > {} <<EOF\n{}\nEOF\n"
WRITTEN = [
    ("/etc/systemd/system/x.service", '[Service]\nEnvironment="A_B=1"', "3 set A_B=1 yes service"),
    ("x.json", '{"env_vars": {"A_B": "1"}}', "2 set A_B=1 unknown configuration"),
    ("x.toml", "[env]\nA_B = '1'", "3 set A_B=1 unknown configuration"),
    ("x.csh", "setenv A_B 1", "2 set A_B=1 yes shell"),
    ("x.fish", "set -gx A_B 1", "2 set A_B=1 yes shell"),
    ("Makefile", "export A_B=1", "2 set A_B=1 yes shell"),
    ("justfile", 'export A_B := "1"', "2 set A_B=1 yes shell"),
    ("x.tf", 'env = { A_B = "1" }', "2 set A_B=1 yes task"),
    ("x.lua", 'setenv("A_B", "1")', "2 set A_B=1 yes module-file"),
    ("x.tcl", "setenv A_B 1", "2 set A_B=1 yes module-file"),
    (".env", "A_B=1", "2 set A_B=1 unknown env-file"),
    ("env.list", 'A_B="1"', '2 set A_B="1" yes env-file'),
    (".deepspeed_env", "A_B=1", "2 set A_B=1 yes env-file"),
    ("/etc/nccl.conf", 'A_B="1"', '2 set A_B="1" yes conf-file'),
    ("x.conf", "[program:x]\nenvironment=A_B=1", "3 set A_B=1 yes service"),
]


@pytest.mark.parametrize(("target", "body", "wanted"), WRITTEN)
def test_here_documents(target: str, body: str, wanted: str) -> None:
    text = HERE.format(target, body)
    facts = facts_of(text, "x.sh")
    assert shown_all(facts) == [f"{wanted} file:{target}"]
    check_places(text, facts)


CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {name: x}
data:
  A_B: "1"
  SOME_ENV: prod
  x.json: '{"env": {"C_D": "2"}}'
  nccl.conf: |
    E_F="3"
  x.toml: |
    [env]
    G_H = "4"
"""
CLOUD_INIT = """write_files:
  - path: /etc/nccl.conf
    content: |
      A_B=1
  - path: /etc/environment
    content: |
      C_D=2
runcmd:
  - export E_F=3
"""
PLAYBOOK = """- hosts: all
  tasks:
    - copy:
        dest: /etc/nccl.conf
        content: A_B=1
    - lineinfile: {path: /etc/environment, line: C_D=2}
    - blockinfile:
        path: /home/x/.bashrc
        block: |
          export E_F=3
      environment:
        G_H: "4"
"""
FILES = [
    (CONFIG_MAP, "x.yaml", ["A_B=1", "SOME_ENV=prod", "C_D=2", 'E_F="3"', "G_H=4"]),
    (CLOUD_INIT, "cloud.yaml", ["A_B=1", "C_D=2", "E_F=3"]),
    (PLAYBOOK, "site.yml", ["A_B=1", "C_D=2", "G_H=4", "E_F=3"]),
    ('FROM x\nCOPY <<EOF /etc/x.json\n{"env": {"A_B": "1"}}\nEOF\n', "Dockerfile", ["A_B=1"]),
    ("FROM x\nRUN echo 'A_B=1' >> /etc/environment\n", "Dockerfile", ["A_B=1"]),
    ("echo 'A_B=1' >> .env\nprintf 'C_D=%s\\n' 2 >> nccl.conf\n", "x.sh", ["A_B=1", "C_D=2"]),
    ('{"scripts": {"x": "echo A_B=1 >> .env"}}', "package.json", ["A_B=1"]),
    ('{"env": {"A_B": "1"}, "path": "a.txt", "content": "C_D=2"}', "x.json", ["A_B=1"]),
]


@pytest.mark.parametrize(("text", "path", "wanted"), FILES)
def test_files_in_other_files(text: str, path: str, wanted: list[str]) -> None:
    facts = facts_of(text, path)
    assert sorted(f"{s.name}={s.value.text}" for s in facts.settings) == sorted(wanted)
    check_places(text, facts)
