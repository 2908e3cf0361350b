"""Payload: values of C types to bytes and back.

    b char   h short   i int   l long   q long long   Q unsigned long long
    f float  d double  s bytes as they are

x32 is external32 (big-endian, long has 4 bytes); le8 and be8 have a long of 8 bytes."""
import struct

_LONG = {"x32": ">i", "le8": "<q", "be8": ">q"}


def _format(fmt, how):
    if fmt == "l":
        return _LONG[how]
    return (">" if how in ("x32", "be8") else "<") + fmt


def encode(fmt, values, how):
    if fmt == "s":
        return bytes(values)
    one = _format(fmt, how)
    return struct.pack(one[0] + str(len(values)) + one[1], *values)


def decode(fmt, raw, how):
    if fmt == "s":
        return bytes(raw)
    one = _format(fmt, how)
    n, rest = divmod(len(raw), struct.calcsize(one))
    if rest:
        raise ValueError(f"{len(raw)} bytes are no whole number of '{fmt}' ({how})")
    return list(struct.unpack(one[0] + str(n) + one[1], raw))
