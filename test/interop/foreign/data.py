# SPDX-License-Identifier: BSD-2-Clause
"""Payload: values of C types to bytes and back.

    b char   B unsigned char   h short  H unsigned   i int  I unsigned   f float   d double
    q long long  Q unsigned    l long   L unsigned long   w wchar_t   ? _Bool
    g long double (values are Fractions)    F D G complex of f d g (pairs of values)
    fi di li hi gi   a value and an int, nothing between (pairs)
    s bytes as they are

Representations: x32 is external32 (big-endian; long has 4 bytes, wchar_t 2, long double is
IEEE binary128); x32l8 the same with a long of 8 bytes; le8 and be8 are the memory of a
64-bit machine (long 8, wchar_t 4; le8: long double as x86 has it, in 16 bytes)."""
import struct
from fractions import Fraction

_NAMED = {  # format: {representation: struct format}
    "l": {"x32": "i", "x32l8": "q", "le8": "q", "be8": "q"},
    "L": {"x32": "I", "x32l8": "Q", "le8": "Q", "be8": "Q"},
    "w": {"x32": "H", "x32l8": "H", "le8": "i", "be8": "i"},
}
_PARTS = {"F": "ff", "D": "dd", "G": "gg"}  # complex


def _order(how):
    return "<" if how == "le8" else ">"


def _plain(fmt, how):
    return _order(how) + _NAMED.get(fmt, {}).get(how, fmt)


def _parts(fmt):
    return _PARTS.get(fmt, fmt)


def size(fmt, how):
    return sum(1 if f == "s" else 16 if f == "g" else struct.calcsize(_plain(f, how))
               for f in _parts(fmt))


# --- long double: sign, exponent with bias 16383, fraction ---------------------------------

def _split(value, bits):
    """(exponent, fraction with its leading one) of a positive normal value."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    scaled = value / Fraction(2) ** exponent * (1 << bits)
    if scaled.denominator != 1:
        raise ValueError(f"{value} does not fit {bits} bits of fraction")
    return exponent, int(scaled)


def _g_encode(value, how):
    value = Fraction(value)
    sign, value = (1, -value) if value < 0 else (0, value)
    bits = 63 if how == "le8" else 112
    exponent, fraction = _split(value, bits) if value else (-16383, 0)
    top = sign << 15 | exponent + 16383
    if how == "le8":  # the leading one is there
        return fraction.to_bytes(8, "little") + top.to_bytes(2, "little") + bytes(6)
    return (top << 112 | fraction & (1 << 112) - 1).to_bytes(16, "big")


def _g_decode(raw, how):
    if how == "le8":
        top, fraction, bits = int.from_bytes(raw[8:10], "little"), \
            int.from_bytes(raw[:8], "little"), 63
    else:
        whole, bits = int.from_bytes(raw, "big"), 112
        top, fraction = whole >> 112, whole & (1 << 112) - 1
        fraction |= (1 << 112) if top & 0x7fff else 0
    if top & 0x7fff == 0x7fff:
        raise ValueError(f"long double {raw.hex()} is infinite or no number")
    value = Fraction(fraction, 1 << bits) * Fraction(2) ** ((top & 0x7fff) - 16383)
    return -value if top >> 15 else value


def _one_encode(fmt, value, how):
    return _g_encode(value, how) if fmt == "g" else struct.pack(_plain(fmt, how), value)


def _one_decode(fmt, raw, how):
    return _g_decode(raw, how) if fmt == "g" else struct.unpack(_plain(fmt, how), raw)[0]


# --- whole messages --------------------------------------------------------------------------

def encode(fmt, values, how):
    if fmt == "s":
        return bytes(values)
    parts = _parts(fmt)
    if fmt != "g" and len(parts) == 1:
        one = _plain(fmt, how)
        return struct.pack(one[0] + str(len(values)) + one[1], *values)
    if len(parts) == 1:
        return b"".join(_g_encode(v, how) for v in values)
    return b"".join(_one_encode(f, v, how) for pair in values
                    for f, v in zip(parts, pair, strict=True))


def decode(fmt, raw, how):
    if fmt == "s":
        return bytes(raw)
    each = size(fmt, how)
    n, rest = divmod(len(raw), each)
    if rest:
        raise ValueError(f"{len(raw)} bytes are no whole number of '{fmt}' ({how})")
    parts = _parts(fmt)
    if fmt != "g" and len(parts) == 1:
        one = _plain(fmt, how)
        return list(struct.unpack(one[0] + str(n) + one[1], raw))
    if len(parts) == 1:
        return [_g_decode(raw[i * 16:i * 16 + 16], how) for i in range(n)]
    out = []
    for i in range(n):
        at, pair = i * each, []
        for f in parts:
            width = size(f, how)
            pair.append(_one_decode(f, raw[at:at + width], how))
            at += width
        out.append(tuple(pair))
    return out
