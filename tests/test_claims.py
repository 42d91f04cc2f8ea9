"""Claims: complete in both languages, found by people's words, answered in one screen, and never against the rules."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import generate_docs
import pytest
from support import envdoctor, known_catalog

from envdoctor.cli.explain import answer
from envdoctor.cli.explain_claims import columns, folded
from envdoctor.core.target import UNKNOWN
from envdoctor.knowledge import claims
from envdoctor.knowledge.claims import Claim, ClaimError, Claims, claims_from, load_claims
from envdoctor.knowledge.rulebook import load_rulebook

ALL = load_claims()
EACH = pytest.mark.parametrize("claim", list(ALL), ids=lambda claim: claim.id)
GHOSTS = ["NCCL_DETERMINISTIC", "RCCL_DETERMINISTIC", "RCCL_ALGO", "RCCL_PROTO", "RCCL_CHUNK_SIZE",
          "RCCL_DISABLE_P2P", "RCCL_TIMEOUT", "NCCL_TIMEOUT", "RCCL_RING_ORDER", "RCCL_TOPO_ENABLE",
          "RCCL_FP16_DETERMINISTIC", "RCCL_DETERMINISTIC_OPS", "RCCL_DEBUG", "RCCL_DEBUG_FILE"]  # fmt: skip
REAL = ["NCCL_P2P_DISABLE", "NCCL_ALGO", "NCCL_PROTO", "NCCL_BUFFSIZE", "NCCL_MIN_NCHANNELS", "NCCL_NTHREADS",
        "MIOPEN_FIND_MODE", "MIOPEN_DEBUG_FIND_ONLY_SOLVER", "HIPBLASLT_ALLOW_TF32", "NCCL_IB_TIMEOUT",
        "CUBLAS_WORKSPACE_CONFIG", "PYTHONHASHSEED", "NCCL_NVLS_ENABLE", "NCCL_GRAPH_FILE"]  # fmt: skip
RULE_NAME = re.compile(r"[a-z]+(-[a-z]+)*")


def explained(query: str) -> str:
    return "\n".join(answer(query, UNKNOWN, as_data=False))


@EACH
def test_a_claim_is_answered_in_one_screen_in_both_languages(claim: Claim) -> None:
    for language in claims.LANGUAGES:
        lines = answer(claim.words[language].says, UNKNOWN, as_data=False)
        assert len(lines) <= 40
        assert max(columns(line) for line in lines if "@" not in line) <= 110
        assert claim.words[language].truth[:8] in "".join(lines)


@EACH
def test_a_claim_is_found_by_its_words(claim: Claim) -> None:
    for phrase in (claim.id, *(words.says for words in claim.words.values()), *claim.also):
        assert ALL.search(phrase)[0] is claim, phrase


@EACH
def test_a_claim_names_evidence_and_rules_that_can_be(claim: Claim) -> None:
    assert claim.evidence
    assert all(RULE_NAME.fullmatch(rule) for rule in claim.rules)
    assert claims.CHINESE.search(claim.words["zh"].truth)
    assert not claims.CHINESE.search("".join(vars_of(claim)))


def vars_of(claim: Claim) -> list[str]:
    return [claim.en.says, claim.en.truth, claim.en.instead, *claim.evidence]


@pytest.mark.parametrize("name", [*GHOSTS, *REAL])
def test_a_variable_leads_to_its_claims(name: str) -> None:
    about = ALL.about(name)
    assert about
    text = explained(name)
    assert all(claim.id in text for claim in about)


@pytest.mark.parametrize("name", GHOSTS)
def test_a_ghost_of_the_claims_is_a_ghost_of_the_catalogue(name: str) -> None:
    variable = known_catalog().variable(name)
    assert variable is not None and variable.status == "ghost"
    assert any(claim.verdict == "refuted" and name in claim.names for claim in ALL)


def test_variables_that_claims_recommend_are_real() -> None:
    catalog = known_catalog()
    for claim in ALL:
        for name in re.findall(r"\b(?:NCCL|RCCL|MIOPEN|CUBLAS)_[A-Z0-9_]+\b", claim.en.instead):
            variable = catalog.variable(name)
            assert variable is not None, f"{claim.id}: {name}"
            recommended = not re.search(rf"{name} (has no|does not)", claim.en.instead)
            assert variable.status == "real" or not recommended, f"{claim.id}: {name}"


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("does fp16 accumulate in fp32", "fp16-accumulates-fp32"),
        ("is LL128 nondeterministic?", "ll-nondeterministic"),
        ("lock the GPU clock for determinism", "perf-determinism"),
        ("rocm-smi --setperfdeterminism", "perf-determinism"),
        ("rocm-smi --setperfdeterminism 1900", "perf-determinism"),
        ("cat /opt/rocm/.info/version", "rocm-info-version"),
        ("all_reduce_perf", "all-reduce-perf-twice"),
        ("rocprof", "rocprof-algorithm"),
        ("Megatron NCCL_ALGO Tree default", "megatron-tree-default"),
        ("MIOPEN_FIND_MODE=normal disables tuning", "miopen-find-mode-normal"),
        ("torch.cuda.manual_seed_all", "cuda-manual-seed"),
        ("kernels use atomicAdd", "atomics-in-reductions"),
        ("performance cost of deterministic mode", "determinism-costs"),
        ("adaptive routing", "adaptive-routing"),
        ("cudnn.deterministic on MIOpen", "cudnn-deterministic-miopen"),
        ("RCCL 日志怎么开", "rccl-debug"),
        ("半精度归约", "fp16-accumulates-fp32"),
        ("锁频 1900", "perf-determinism"),
        ("关闭P2P保证确定性", "p2p-off"),
        ("推理需要确定性吗", "inference-needs-none"),
        ("os.environ 运行时修改无效", "read-at-process-start"),
        ("自适应路由", "adaptive-routing"),
        ("双 die", "two-dies"),
    ],
)
def test_peoples_words(question: str, wanted: str) -> None:
    assert ALL.search(question)[0].id == wanted


@pytest.mark.parametrize("text", ["", "the", "ghots-variabel", "kubernetes ingress", "天气预报"])
def test_what_no_claim_is_about(text: str) -> None:
    assert ALL.search(text) == []


def test_a_chinese_question_has_a_chinese_answer() -> None:
    assert "不成立" in explained("锁频")
    assert "Not true." in explained("lock GPU clock")


def test_a_rule_names_the_advice_it_catches() -> None:
    assert "nccl-deterministic" in explained("ghost-variable")


def test_json_of_a_claim() -> None:
    data = json.loads("\n".join(answer("lock GPU clock", UNKNOWN, as_data=True)))
    assert data["claim"] == "perf-determinism" and data["verdict"] == "refuted"
    assert set(data["zh"]) == {"says", "truth", "instead"}


def test_on_the_command_line(tmp_path: Path) -> None:
    run = envdoctor("explain", "lock", "GPU", "clock", cwd=tmp_path)
    assert run.returncode == 0 and "soft maximum" in run.stdout
    assert envdoctor("explain", "kubernetes ingress", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a " * 60, ["a " * 49 + "a", "a " * 9 + "a"]),
        ("字" * 60, ["字" * 50, "字" * 10]),
        ("字" * 50 + "。", ["字" * 50 + "。"]),
        ("", []),
    ],
)
def test_lines_are_folded_by_columns(text: str, lines: list[str]) -> None:
    assert folded(text) == lines


GOOD: dict[str, Any] = {
    "id": "x", "topic": "sums", "verdict": "true", "names": [], "rules": [], "experiments": [], "evidence": ["e"],
    "en": {"says": "s", "truth": "t", "instead": "i"}, "zh": {"says": "甲", "truth": "乙", "instead": "丙"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"verdct": 1}, "x: verdct: unknown key (did you mean verdict?)"),
        ({"verdict": "maybe"}, "x: verdict: 'maybe' is not one of"),
        ({"topic": "x"}, "x: topic:"),
        ({"zh": {"says": "甲"}}, "x: zh: expected"),
        ({"experiments": ["none"]}, "x: experiments: 'none'"),
    ],
)
def test_a_bad_claim_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ClaimError) as error:
        claims_from({"claim": [{**GOOD, **change}], "experiment": {}})
    assert str(error.value).startswith(says)


def test_missing_keys_and_doubled_ids() -> None:
    with pytest.raises(ClaimError, match="evidence: missing"):
        claims_from({"claim": [{k: v for k, v in GOOD.items() if k != "evidence"}]})
    with pytest.raises(ClaimError, match="already taken"):
        claims_from({"claim": [GOOD, GOOD]})


def test_bad_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text("[[claim]\n", encoding="utf-8")
    with pytest.raises(ClaimError, match=r"claims\.toml: "):
        claims.build([path])


def test_the_pages_hold_every_claim_and_only_rules_that_have_a_page() -> None:
    names = {rule.name for rule in load_rulebook()}
    for language in claims.LANGUAGES:
        page = generate_docs.claims_page(ALL, language, names)
        assert page.count("### ") == len(tuple(ALL))
        assert set(re.findall(r"\(rules/([a-z-]+)\.md\)", page)) <= names
        assert all(f"(#{claim.id})" in page for claim in ALL)


def test_claims_are_a_few(tmp_path: Path) -> None:
    assert isinstance(ALL, Claims) and len(tuple(ALL)) >= 43
