"""The data that is reduced: a function of seed and index alone, with the same bits on every device and torch.

Random bits come from a counter and the finaliser of splitmix64, in integer arithmetic only. `wide` spreads values
over 16 powers of two, so that the order of additions shows; `integer` holds small whole numbers whose sums are exact
in every type, so that the right result is known; `equal` is `wide` with one seed for all ranks.
"""

from __future__ import annotations

import torch

GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
MIX = ((30, 0xBF58476D1CE4E5B9 - (1 << 64)), (27, 0x94D049BB133111EB - (1 << 64)))
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
LAYOUT = {"fp32": (torch.int32, 32, 23, 119), "bf16": (torch.int16, 16, 7, 119), "fp16": (torch.int16, 16, 10, 7)}
"""dtype -> integer type of its bits, width, bits of the mantissa, least biased exponent (2 to the power of -8)."""
EXACT = 256
"""Every whole number up to here is exact in bfloat16, the shortest mantissa."""


def right(bits: torch.Tensor, count: int) -> torch.Tensor:
    """Logical shift of int64."""
    return (bits >> count) & ((1 << (64 - count)) - 1)


def random_bits(seed: int, count: int, device: torch.device) -> torch.Tensor:
    """64 random bits for each index from 0, as int64."""
    bits = (torch.arange(1, count + 1, dtype=torch.int64, device=device) + (seed << 32)) * GOLDEN
    for shift, factor in MIX:
        bits = (bits ^ right(bits, shift)) * factor
    return bits ^ right(bits, 31)


def wide(dtype: str, seed: int, count: int, device: torch.device) -> torch.Tensor:
    """Values of either sign, random mantissa, and 16 exponents from 2^-8 up."""
    integer, width, mantissa, least = LAYOUT[dtype]
    bits = random_bits(seed, count, device)
    sign = right(bits, 63)
    exponent = (right(bits, 40) & 15) + least
    raw = (exponent << mantissa) | (bits & ((1 << mantissa) - 1))
    return (raw - (sign << (width - 1))).to(integer).view(DTYPES[dtype])


def whole(seed: int, count: int, addends: int, device: torch.device) -> torch.Tensor:
    """Whole numbers as int64, so small that the sum of `addends` of them is exact in every type."""
    limit = max(1, min(8, EXACT // addends))
    return right(random_bits(seed, count, device), 40) % (2 * limit + 1) - limit


def addend(data: str, dtype: str, count: int, source: int, addends: int, device: torch.device) -> torch.Tensor:
    """What part `source` of `addends` adds."""
    if data == "integer":
        return whole(source + 1, count, addends, device).to(DTYPES[dtype])
    return wide(dtype, 1 if data == "equal" else source + 1, count, device)


def exact_sum(dtype: str, count: int, addends: int, device: torch.device) -> torch.Tensor:
    """The right result for `integer` data."""
    total = whole(1, count, addends, device)
    for source in range(1, addends):
        total += whole(source + 1, count, addends, device)
    return total.to(DTYPES[dtype])
