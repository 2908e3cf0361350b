#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Host streams and listings out of captures, into test/data/interop.

    test/interop/extract.py CAPTURE_DIR OUT_DIR

A capture is NAME.data.pcap (Ethernet, TCP over IPv4, complete from SYN on) with
NAME.decoded.txt, its listing by somebody else's decoder; see the README there.  Each gives

    NAME.streams    the bytes of every direction of every connection, compressed a little
    NAME.list       the listing, one line per packet, without ports, times and headers

NAME.streams is a row of streams, all numbers big-endian:

    u32 from, to        host ranks
    u32 bytes           of the stream
    u32 tokens          and then so many tokens:
    u32 literal, u32 copy, u32 distance, then `literal` bytes
                        after the literal bytes come `copy` bytes, each a repetition of the
                        one `distance` bytes before it
"""
import os
import re
import struct
import sys

FIRST_HOST = 2  # 10.99.0.2 is host 0


def host_of(address):
    return int(address.split(":")[0].split(".")[3]) - FIRST_HOST


def frames(raw):
    magic = struct.unpack("<I", raw[:4])[0]
    assert magic == 0xa1b2c3d4, "a little-endian pcap is wanted"
    at = 24
    while at < len(raw):
        _, _, caplen, length = struct.unpack("<IIII", raw[at:at + 16])
        assert caplen == length, "a frame was cut"
        yield raw[at + 16:at + 16 + caplen]
        at += 16 + caplen


def tcp_streams(raw):
    """{(src "a.b.c.d:port", dst): bytes}, in the order of their first frames."""
    start, pieces = {}, {}
    for f in frames(raw):
        if f[12:14] != b"\x08\x00" or f[23] != 6:
            continue
        ihl = (f[14] & 15) * 4
        total = struct.unpack(">H", f[16:18])[0]
        t = 14 + ihl
        sport, dport, seq = struct.unpack(">HHI", f[t:t + 8])
        src = ".".join(map(str, f[26:30])) + f":{sport}"
        dst = ".".join(map(str, f[30:34])) + f":{dport}"
        payload = f[t + (f[t + 12] >> 4) * 4:14 + total]
        if f[t + 13] & 2:
            start[src, dst] = (seq + 1) & 0xffffffff
            pieces[src, dst] = {}
        elif payload:
            pieces[src, dst].setdefault((seq - start[src, dst]) & 0xffffffff, payload)
    out = {}
    for key, parts in pieces.items():
        data = bytearray()
        for at in sorted(parts):
            assert at <= len(data), f"{key}: a hole at {len(data)}"
            data += parts[at][len(data) - at:]
        out[key] = bytes(data)
    return out


def tokens(data, distances=(1, 4, 128, 251, 256), shortest=24):
    at, begin, out = 0, 0, []
    while at < len(data):
        best = 0, 0
        for d in (d for d in distances if d <= at):
            n = 0
            while at + n < len(data) and data[at + n] == data[at + n - d]:
                n += 1
            best = max(best, (n, d))
        if best[0] >= shortest:
            out.append((data[begin:at], *best))
            at += best[0]
            begin = at
        else:
            at += 1
    if begin < at:
        out.append((data[begin:at], 0, 0))
    return out


def expand(parts):
    data = bytearray()
    for literal, copy, distance in parts:
        data += literal
        for _ in range(copy):
            data.append(data[-distance])
    return bytes(data)


LINE = re.compile(r"\s+[\d.]+ (10\.99\.0\.\d+:\d+)->(10\.99\.0\.\d+:\d+)  (.*)")


def listing(text):
    """{(src, dst): [line, ...]} of the host to host connections."""
    out, here = {}, None
    for line in text.splitlines():
        m = LINE.match(line)
        if m:
            here = out.setdefault((m[1], m[2]), [])
            what = re.sub(r"^([0-9a-f]{8})  connecting host's index = (\d+)$", r"ident \2", m[3])
            what = re.sub(r"=(0x[0-9a-f]+)", lambda x: "=" + str(int(x[1], 16)), what)
            here.append(re.sub(r" +", " ", what))
        elif re.match(r"\s+body ", line) and here:
            here[-1] += " body=" + "".join(re.findall(r"\b(?:[0-9a-f]{2})+\b",
                                                       line.split("..(")[0].split("body")[1]))
        elif not re.match(r"\s+hdr\+", line):
            here = None
    return out


def main():
    source, target = sys.argv[1:]
    for name in sorted(f[:-len(".data.pcap")] for f in os.listdir(source)
                       if f.endswith(".data.pcap")):
        with open(f"{source}/{name}.data.pcap", "rb") as f:
            streams = tcp_streams(f.read())
        with open(f"{source}/{name}.decoded.txt") as f:
            lines = listing(f.read())
        with open(f"{target}/{name}.streams", "wb") as b, open(f"{target}/{name}.list", "w") as t:
            for (src, dst), data in streams.items():
                parts = tokens(data)
                assert expand(parts) == data
                b.write(struct.pack(">IIII", host_of(src), host_of(dst), len(data), len(parts)))
                for literal, copy, distance in parts:
                    b.write(struct.pack(">III", len(literal), copy, distance) + literal)
                t.write(f"stream {host_of(src)} {host_of(dst)} {len(data)}\n")
                for line in lines.get((src, dst), []):
                    t.write(line + "\n")
        left = set(lines) - set(streams)
        assert not left, f"{name}: the listing has connections without bytes: {left}"


main()
