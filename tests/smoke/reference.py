"""The hash and the data in plain Python, written from their definition and not from the code of the ranks."""

from __future__ import annotations

import struct

M = (1 << 64) - 1
HASH_KEYS = [
    (0x243F6A8885A308D3, 0x9E3779B97F4A7C15, 0x13198A2E03707344, 0xD1B54A32D192ED03),
    (0xA4093822299F31D0, 0xC2B2AE3D27D4EB4F, 0x082EFA98EC4E6C89, 0x8CB92BA72F3D8DD7),
]
LEAST_EXPONENT = {"fp32": 119, "bf16": 119, "fp16": 7}


def digest(data: bytes, elements: int) -> str:
    words = [word & M for (word,) in struct.iter_unpack("<i", data + bytes(-len(data) % 4))]
    sums = []
    for offset, factor, shift, last in HASH_KEYS:
        total = elements
        for index, word in enumerate(words):
            mixed = ((word + offset) * (((index * factor + shift) & M) | 1)) & M
            total += (mixed ^ (mixed >> 31)) * last
        sums.append(f"{total & M:016x}")
    return "".join(sums)


def random_bits(seed: int, index: int) -> int:
    bits = ((index + 1 + (seed << 32)) * 0x9E3779B97F4A7C15) & M
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & M
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & M
    return bits ^ (bits >> 31)


def wide(dtype: str, seed: int, count: int) -> bytes:
    """The bytes of the first `count` values."""
    width, mantissa = {"fp32": (32, 23), "bf16": (16, 7), "fp16": (16, 10)}[dtype]
    found = b""
    for index in range(count):
        bits = random_bits(seed, index)
        exponent = (bits >> 40 & 15) + LEAST_EXPONENT[dtype]
        raw = bits >> 63 << (width - 1) | exponent << mantissa | bits & ((1 << mantissa) - 1)
        found += raw.to_bytes(width // 8, "little")
    return found


def whole(seed: int, count: int, addends: int) -> list[int]:
    limit = max(1, min(8, 256 // addends))
    return [(random_bits(seed, index) >> 40) % (2 * limit + 1) - limit for index in range(count)]


def float32(value: float) -> float:
    (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    return float(rounded)


def summed(parts: list[bytes]) -> bytes:
    """Elementwise fp32 sum from the first part to the last, rounded after each addition.

    The sum of two floats is exact in a double up to its own rounding, which cannot change the rounding to a float
    (the double has more than twice the digits).
    """
    columns = [[value for (value,) in struct.iter_unpack("<f", part)] for part in parts]
    found = b""
    for index in range(len(columns[0])):
        total = columns[0][index]
        for column in columns[1:]:
            total = float32(total + column[index])
        found += struct.pack("<f", total)
    return found
