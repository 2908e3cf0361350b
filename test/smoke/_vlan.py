#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A VLAN interface for kernels that make none: _vlan.py INTERFACE VLAN NETNS NAME MTU

A TAP called NAME in NETNS (a file of /run/netns) is the untagged end; what it sends leaves
INTERFACE, of the own namespace, with the tag, and what comes there with the tag goes to it.  Ends
with its parent."""
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys

SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
VLAN_VALID, CLONE_NEWNET, TUNSETIFF, TAP_NO_PI = 16, 0x40000000, 0x400454CA, 0x1002


def main():
    wire, vlan, netns, name, mtu = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(1, signal.SIGTERM)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((wire, 3))
    s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    with open(f'/run/netns/{netns}') as f:
        if libc.setns(f.fileno(), CLONE_NEWNET):
            sys.exit(f'{netns}: {os.strerror(ctypes.get_errno())}')
    tap = os.open('/dev/net/tun', os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack('16sH', name.encode(), TAP_NO_PI))
    subprocess.run(['ip', 'link', 'set', name, 'mtu', mtu, 'up'], check=True)
    tag = struct.pack('!HH', 0x8100, vlan)
    while True:
        for fd in select.select([s, tap], [], [])[0]:
            if fd is tap:
                frame = os.read(tap, 65536)
                s.send(frame[:12] + tag + frame[12:])
                continue
            frame, aux, _, _ = s.recvmsg(65536, 64)
            at = next((d for level, kind, d in aux if (level, kind) == (SOL_PACKET, PACKET_AUXDATA)), b'')
            status, _, _, _, _, tci, _ = struct.unpack('IIIHHHH', at)
            if status & VLAN_VALID and tci & 0xfff == vlan:
                os.write(tap, frame)
            elif frame[12:16] == tag:
                os.write(tap, frame[:12] + frame[16:])


main()
