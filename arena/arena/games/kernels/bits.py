"""Bit operations on 64-bit words: counting bits, and finding one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir  # pyright: ignore[reportMissingTypeStubs] # it has none

from arena.games.kernels.compiling import inline_kernel
from arena.games.kernels.numba_parts import intrinsic, types

if TYPE_CHECKING:
    from arena.games.kernels.compiling import Int

# The masks below divide a word into fields of 2, 4 and 8 bits, as in the usual parallel population count.
# All of them are uint64: numba follows NumPy's rule that a uint64 and a signed int make a float.
_ONE = np.uint64(1)
_BYTE = np.uint64(8)
_LOW_BYTE = np.uint64(0xFF)
_PAIRS = np.uint64(0x5555555555555555)
_NIBBLES = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_LOWS = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_SLOW_DEPOSIT = frozenset({"bdver4", "znver1", "znver2"})
"""Processors that have the instruction PDEP, but need hundreds of cycles for it."""


def _nth_in_byte() -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return a table of the set bit that has n set bits below it, for each byte; `[8 * 256]`, n first."""
    table = np.zeros((8, 256), np.uint64)
    for byte in range(256):
        for number, bit in enumerate(bit for bit in range(8) if byte >> bit & 1):
            table[number, byte] = 1 << bit
    return table.reshape(-1)


_NTH_IN_BYTE = _nth_in_byte()


def _emit_trailing_zeros(_typing: Any, _word: Any) -> Any:  # noqa: ANN401 # numba calls it with its own objects
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        # The last argument says that 0 is a valid input; for it LLVM defines the result as 64.
        return builder.cttz(arguments[0], context.get_constant(types.boolean, 0))

    return types.int64(types.uint64), generate


def _emit_population(_typing: Any, _word: Any) -> Any:  # noqa: ANN401 # numba calls it with its own objects
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _emit_can_deposit(_typing: Any) -> Any:  # noqa: ANN401 # numba calls it with its own objects
    """Return whether the target processor executes PDEP (deposit bits, x86 BMI2) quickly."""

    def generate(context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:  # noqa: ANN401
        # The answer is a constant of the compiled code, so LLVM drops the branch that is not taken. The cache
        # separates processors, so a constant of one never runs on another.
        triple, name, features = context.codegen().magic_tuple()
        has_it = triple.startswith("x86_64") and "+bmi2" in features.split(",")
        return context.get_constant(types.boolean, has_it and name not in _SLOW_DEPOSIT)

    return types.boolean(), generate


def _emit_deposit(_typing: Any, _source: Any, _mask: Any) -> Any:  # noqa: ANN401 # as above
    """Scatter the low bits of `source` to the set bits of `mask` (PDEP); 0 without the instruction."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        # numba compiles both branches of `nth_bit`, and LLVM cannot emit PDEP for a processor without it.
        if "+bmi2" not in context.codegen().magic_tuple()[2].split(","):
            return context.get_constant(types.uint64, 0)
        word = ir.IntType(64)
        instruction = builder.module.declare_intrinsic(
            "llvm.x86.bmi.pdep.64", fnty=ir.FunctionType(word, [word, word])
        )
        return builder.call(instruction, arguments)

    return types.uint64(types.uint64, types.uint64), generate


_trailing_zeros: Any = intrinsic(_emit_trailing_zeros)
_population: Any = intrinsic(_emit_population)
_can_deposit: Any = intrinsic(_emit_can_deposit)
_deposit: Any = intrinsic(_emit_deposit)


@inline_kernel
def bit_number(word: np.uint64) -> Int:
    """Return the number of the lowest set bit of `word`; 64 for 0."""
    return _trailing_zeros(word)


@inline_kernel
def num_bits(word: np.uint64) -> Int:
    """Return the number of set bits of `word`."""
    return _population(word)


@inline_kernel
def nth_bit(word: np.uint64, number: Int) -> np.uint64:
    """Return, as a word with one bit, the set bit of `word` with `number` set bits below it."""
    # PDEP moves bit `number` of its source to the set bit of `word` with that rank.
    if _can_deposit():
        return _deposit(_ONE << np.uint64(number), word)
    return portable_nth_bit(word, number)


@inline_kernel
def portable_nth_bit(word: np.uint64, number: Int) -> np.uint64:
    """Compute `nth_bit` without special instructions.

    Source: Vigna, Broadword implementation of rank/select queries (2008), section 3.
    """
    # Each field holds a number at most as large as its width, so nothing carries into the next one or borrows
    # from it.
    sums = word - ((word >> _ONE) & _PAIRS)
    sums = (sums & _NIBBLES) + ((sums >> np.uint64(2)) & _NIBBLES)
    # Byte i of `sums` is the number of set bits in the bytes 0 to i.
    sums = ((sums + (sums >> np.uint64(4))) & _BYTES) * _LOWS
    wanted = np.uint64(number)
    # Compare all bytes at once: the number of bytes whose sum is at most `wanted` is the byte with the bit.
    # A byte of `sums` is at most 64 and `wanted` at most 63, so the subtraction never borrows from the next
    # byte. A `number` that is too large would shift by 64, which LLVM leaves undefined.
    place = np.uint64(num_bits(((wanted * _LOWS | _HIGHS) - sums) & _HIGHS)) * _BYTE
    rest = wanted - ((sums << _BYTE) >> place & _LOW_BYTE)
    return _NTH_IN_BYTE[np.int64(rest << _BYTE | (word >> place & _LOW_BYTE))] << place
