"""Which real name was plainly meant by a name that nothing reads: at most one, and only if it is plain.

Edit distance alone is a poor guide to variable names: `RCCL_P2P_DISABLE` is one letter from a real name, but so is
`HCCL_DETERMINISTIC` from an invented one. So the words of a name are compared first: another prefix, another order,
singular and plural, a word that is missing; and only then letters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from envdoctor.checks.names import slips

PREFIX_TWINS = {
    "RCCL_": ("NCCL_",),
    "NCCL_": ("TORCH_NCCL_", "RCCL_"),
    "TORCH_RCCL_": ("TORCH_NCCL_",),
    "TORCH_": ("TORCH_NCCL_",),
    "TORCH_NCCL_": ("NCCL_",),
    "ROCM_": ("HIP_", "ROCR_", "MIOPEN_"),
    "HIP_": ("ROCR_", "HSA_"),
    "CUBLASLT_": ("CUBLAS_",),
    "HIPBLAS_": ("ROCBLAS_", "HIPBLASLT_"),
    "PT_": ("PYTORCH_",),
    "MIOPEN_": ("MIOPEN_DEBUG_",),
}
"""Prefixes that are taken for one another. `NCCL_` for `RCCL_` is right: RCCL reads `NCCL_*` names."""

SAME_WORDS = {
    "DISABLED": "DISABLE", "ENABLED": "ENABLE", "DEVICES": "DEVICE", "LEVELS": "LEVEL", "CHANNELS": "NCHANNELS",
    "CHANNEL": "NCHANNELS", "NCHANNEL": "NCHANNELS", "THREADS": "NTHREADS", "INTERFACE": "IFNAME", "IFACE": "IFNAME",
    "IFNAMES": "IFNAME", "ALGORITHM": "ALGO", "ALGOS": "ALGO", "PROTOCOL": "PROTO", "PROTOCOLS": "PROTO",
    "BUFFERSIZE": "BUFFSIZE", "BUFSIZE": "BUFFSIZE", "SUBSYSTEM": "SUBSYS", "SUBSYSTEMS": "SUBSYS",
    "INFINIBAND": "IB", "PEERTOPEER": "P2P", "RETRIES": "RETRY", "COUNT": "CNT", "TIMEOUTS": "TIMEOUT", "HCAS": "HCA",
    "LIBRARY": "LIB", "CONFIGURATION": "CONFIG", "DETERMINISM": "DETERMINISTIC", "VISABLE": "VISIBLE",
    "CHECKS": "CHECK",
}  # fmt: skip
SWITCHES = {"ENABLE", "DISABLE"}
FILLERS = {"IB", "SOCKET", "NET", "ENABLE"}
"""Words that people leave out of a name."""
GENERIC = {
    "TIMEOUT", "MS", "SEC", "RETRY", "CNT", "DEBUG", "LEVEL", "ENABLE", "DISABLE", "SIZE", "MODE", "PATH", "FILE",
    "TYPE", "NUM", "MAX", "MIN", "THRESHOLD", "CACHE", "DIR", "INDEX", "NTHREADS", "NCHANNELS", "INTERVAL", "PORT",
    "RATE",
}  # fmt: skip
"""Words that say nothing of what a setting is about: sharing only these makes no kin."""
FEWEST_LETTERS = 9
"""Shorter names have too many neighbours for an edit distance to mean anything."""


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, with spellings of the same word made equal."""
    return tuple(SAME_WORDS.get(word, word) for word in name.upper().split("_") if word)


def nearest(name: str, real: Iterable[str], is_real: Callable[[str], bool]) -> str | None:
    """The real name that was plainly meant by `name`, or None.

    `real` are the candidates, `is_real` says whether a composed name is one.
    """
    return by_prefix(name, is_real) or by_words(name, real, is_real) or by_letters(name, real, is_real)


def by_prefix(name: str, is_real: Callable[[str], bool]) -> str | None:
    """The name under the prefix it belongs to: RCCL_IB_HCA -> NCCL_IB_HCA."""
    for prefix in sorted(PREFIX_TWINS, key=len, reverse=True):
        if not name.startswith(prefix):
            continue
        for twin in PREFIX_TWINS[prefix]:
            if is_real(candidate := twin + name[len(prefix) :]):
                return candidate
    return None


def by_words(name: str, real: Iterable[str], is_real: Callable[[str], bool]) -> str | None:
    """The one name with the same words in another order or form, or with one word more."""
    wanted = words_of(name)
    if len(wanted) < 2:
        return None
    same, longer = set(), set()
    for candidate in real:
        if not _kin(name, candidate):
            continue
        words = words_of(candidate)
        if sorted(words[1:]) == sorted(wanted[1:]):
            same.add(candidate)
        elif _one_word_missing(wanted, words):
            longer.add(candidate)
    for found in (set(filter(is_real, same)), set(filter(is_real, longer))):
        own = {c for c in found if c.split("_")[0] == name.split("_")[0]} or found
        if len(own) == 1:
            return own.pop()
        if own:
            return None
    return None


def _kin(name: str, candidate: str) -> bool:
    """The two names have prefixes that are the same or taken for one another."""
    first, other = name.split("_", 1)[0], candidate.split("_", 1)[0]
    return first == other or {first, other} == {"NCCL", "RCCL"}


def _one_word_missing(wanted: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """`words` is `wanted` and one filler more (NCCL_IFNAME, NCCL_SOCKET_IFNAME), and something special is shared."""
    rest = list(words[1:])
    for word in wanted[1:]:
        if word not in rest:
            return False
        rest.remove(word)
    return len(rest) == 1 and rest[0] in FILLERS and not GENERIC.issuperset(wanted[1:])


def by_letters(name: str, real: Iterable[str], is_real: Callable[[str], bool]) -> str | None:
    """The one name that is a typing slip away: one letter, two in a long name, or two letters swapped."""
    if len(name) < FEWEST_LETTERS:
        return None
    count = slips.distance()
    most = 1 if len(name) < 16 else 2
    best: list[tuple[int, str]] = []
    for candidate in real:
        if abs(len(candidate) - len(name)) > most or not _slip_allowed(name, candidate):
            continue
        distance = count(name, candidate, most)
        if distance <= most and is_real(candidate):
            best.append((distance, candidate))
    best.sort()
    if not best or (len(best) > 1 and best[0][0] == best[1][0]):
        return None
    return best[0][1]


def _slip_allowed(name: str, candidate: str) -> bool:
    """A digit, a switch word (ENABLE, DISABLE) or the first letter of a library's name is not a slip of another."""
    if name[0] != candidate[0]:
        return False
    digits = [c for c in name if c.isdigit()], [c for c in candidate if c.isdigit()]
    if digits[0] != digits[1]:
        return False
    switches = SWITCHES & set(name.split("_")), SWITCHES & set(candidate.split("_"))
    return not (switches[0] and switches[1] and switches[0] != switches[1])
