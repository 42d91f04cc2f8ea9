"""The content of a rule file held against what rule files are: the keys of all, and the parameters of its code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envdoctor.knowledge.apis import UnknownTableError, with_tables
from envdoctor.knowledge.files import suggestion
from envdoctor.knowledge.kinds import KINDS, kind_codes
from envdoctor.knowledge.parameters.records import RECORDS
from envdoctor.knowledge.parameters.validation import check_parameters, check_table
from envdoctor.knowledge.rule_errors import RuleKeyError
from envdoctor.knowledge.rule_records import OwnRuleFile, ShippedRuleFile

NEW_CODE = " (a new one has a line in checks/registry.py and one in knowledge/parameters/records.py)"


def check_shipped(data: Mapping[str, Any], where: str) -> None:
    """A rule of envdoctor. `RuleKeyError`: its file is not as it has to be; `where` names the file."""
    check_table(data, ShippedRuleFile, where)
    _check_examples(data, where)
    codes = [data["code"]] if isinstance(data["code"], str) else data["code"]
    for code in codes:
        if code not in RECORDS:
            near = suggestion(code, list(RECORDS)) or NEW_CODE
            raise RuleKeyError(where, ("code",), f"{code!r} is not known{near}")
    check_parameters(codes, _resolved(data.get("parameters", {}), where), where)


def check_own(data: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """A rule of a user: the codes that it means, and its parameters without what chose them. Errors as above."""
    if "code" in data:
        raise RuleKeyError(
            where, ("code",), f"only rules of envdoctor name code; write check = one of {', '.join(KINDS)}"
        )
    check_table(data, OwnRuleFile, where)
    _check_examples(data, where)
    codes, parameters = kind_codes(data["check"], _resolved(data.get("parameters", {}), where), where)
    check_parameters(codes, parameters, where)
    return codes, parameters


def _resolved(parameters: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The parameters as the checks get them: with the tables of `rules/apis/` that they name."""
    try:
        return with_tables(parameters)
    except UnknownTableError as error:
        raise RuleKeyError(where, ("parameters", error.key), str(error)) from error


def _check_examples(data: Mapping[str, Any], where: str) -> None:
    for index, example in enumerate(data.get("example", ())):
        if (example["kind"] == "bad") != bool(example.get("expect")):
            said = "a bad example says what is found, a good one finds nothing"
            raise RuleKeyError(where, ("example", index, "expect"), said)
