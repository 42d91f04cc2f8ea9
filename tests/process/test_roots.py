"""Where processes begin in shell scripts, images, CI and manifests: what is there when they start, and what they run."""

from __future__ import annotations

from roots_shown import given, parts_of, ran, roots_in, words

from envdoctor.analysis.process.beginnings import image
from envdoctor.core.operations import plain


def test_a_shell_script_is_one_root_and_directives_make_it_a_job() -> None:
    (script,) = roots_in("#!/bin/bash\nexport A=1\ntorchrun train.py\n", "tools/run.sh")
    assert (script.kind, script.name, script.line) == ("script", "run.sh", 1)
    assert words(script) == ["export A=1", "torchrun train.py"]
    (job,) = roots_in("#!/bin/bash\n#SBATCH --export=ALL,NCCL_DEBUG=INFO\n\nsrun python train.py\n", "job.sbatch")
    assert (job.kind, given(job)) == ("job", {})  # directives are words of sbatch
    for head in ("#PBS -l select=4", "#BSUB -nnodes 4", "#FLUX: -N 4", "#flux: -N4"):
        assert roots_in(f"#!/bin/sh\n{head}\npython train.py\n", "job.sh")[0].kind == "job", head


def test_directives_count_before_the_first_command_only() -> None:
    assert roots_in("cd /work\n#SBATCH -N 4\nsrun python train.py\n", "run.sh")[0].kind == "script"


STAGES = """\
ARG CUDA=12.4
ARG NCCL_DEBUG=WARN
FROM nvidia/cuda:${CUDA}-devel AS builder
ARG NCCL_DEBUG
ARG JOBS=8
ENV NCCL_IB_HCA=mlx5 MAX_JOBS=4
RUN export A=1 && \\
    make -j
ENV LATE=1
FROM builder AS tests
RUN pytest -q
FROM ubuntu:22.04
ENV OMP_NUM_THREADS=8
COPY run.sh /app/
RUN <<EOF
export B=2
make install
EOF
ENTRYPOINT ["/app/run.sh"]
CMD ["--epochs", "3"]
"""


def test_layers_of_an_image_have_the_arguments_and_env_of_their_stages() -> None:
    roots = roots_in(STAGES, "docker/Dockerfile")
    assert [(r.kind, r.stage, r.line, r.before) for r in roots] == [
        ("build", "builder", 7, -1), ("build", "tests", 11, 0), ("build", "2", 15, -1), ("image", "2", 19, 2),
    ]  # fmt: skip
    builder, tests, last, start = roots
    assert given(builder) == {"NCCL_DEBUG": "WARN", "JOBS": "8", "NCCL_IB_HCA": "mlx5", "MAX_JOBS": "4"}
    assert all(s.exported == "yes" for s in builder.settings)
    assert given(tests) == {**given(builder), "LATE": "1"}
    assert given(last) == given(start) == {"OMP_NUM_THREADS": "8"}
    assert words(last) == ["export B=2", "make install"]
    assert [r.image for r in roots] == ["nvidia/cuda:12.4-devel"] * 2 + ["ubuntu:22.04"] * 2


def test_an_image_starts_its_entrypoint_with_its_command() -> None:
    start = roots_in(STAGES, "Dockerfile")[-1]
    assert words(start) == ["/app/run.sh --epochs 3"]
    assert [s.name for s in start.unexported] == ["CUDA", "NCCL_DEBUG"]
    assert start.script is not None
    assert [(word[0], word[1]) for word in start.script.body[0][6]] == [(19, 14), (20, 7), (20, 19)]


def test_entrypoint_in_shell_form_takes_no_command() -> None:
    text = 'FROM a\nENTRYPOINT exec torchrun train.py\nCMD ["--lr", "1"]\n'
    start = roots_in(text, "Dockerfile")[-1]
    assert words(start) == ["exec torchrun train.py"]
    facts, scripts = parts_of(text, "Dockerfile")
    found = image.image_start(facts, scripts, text)
    assert found.closed
    assert found.given([plain("bash", 1, 1)]) == found.script


def test_a_command_in_shell_form_is_an_argument_of_the_entrypoint() -> None:
    start = roots_in('FROM a\nENTRYPOINT ["/entry.sh"]\nCMD python train.py\n', "Dockerfile")[-1]
    assert words(start) == ["/entry.sh /bin/sh -c python train.py"]


def test_an_entrypoint_voids_the_command_of_the_stage_below() -> None:
    text = 'FROM a AS base\nENV A=1\nCMD ["python", "old.py"]\nFROM base\nENTRYPOINT ["python", "train.py"]\n'
    assert words(roots_in(text, "Dockerfile")[-1]) == ["python train.py"]
    text = 'FROM a AS base\nENTRYPOINT ["/entry.sh"]\nFROM base AS b\nCMD ["python", "train.py"]\n'
    assert words(roots_in(text, "Dockerfile")[-1]) == ["/entry.sh python train.py"]


def test_who_enters_an_image_gives_arguments_or_another_entrypoint() -> None:
    facts, scripts = parts_of(STAGES, "Dockerfile")
    start = image.image_start(facts, scripts, STAGES)
    given_words = [plain("bash", 1, 1), plain("x.sh", 1, 6)]
    for script, expected in (
        (start.given(given_words), "/app/run.sh bash x.sh"), (start.given(given_words, ()), "bash x.sh"),
        (start.given((), [plain("/bin/sh", 1, 1)]), "/bin/sh"), (start.given(()), "/app/run.sh --epochs 3"),
    ):  # fmt: skip
        assert ran(script) == [expected]
    assert image.image_start(facts, scripts, STAGES, "tests").script is None
    assert [s.name for s in image.image_environment(facts, "tests")] == ["NCCL_IB_HCA", "MAX_JOBS", "LATE"]
