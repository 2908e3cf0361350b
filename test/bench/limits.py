# SPDX-License-Identifier: BSD-2-Clause
"""The machine's own limits (limits.c) beside the rows of a bench."""
import json
import os
import statistics

SHORT = 256  # bytes that with what the library adds are a few cache lines


def load(path):
    """All measurements of one place: values of one kind are lists. None where there are none."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        found = [json.loads(line) for line in f]
    if not found:
        return None
    sizes = {int(n): {k: [m["sizes"][n][k] for m in found] for k in of}
             for n, of in found[0]["sizes"].items()}
    return {"shared": found[0]["shared"], "cpus": found[0]["cpus"], "sizes": sizes,
            "line_ns": [m["line_ns"] for m in found],
            "syscall_ns": [m["syscall_ns"] for m in found]}


def beside(limits, size, us, in_node):
    """(multiple, of what) for a message of that size, or None if no limit is its own."""
    if limits is None or us is None:
        return None
    of = limits["sizes"].get(size, {})
    if not in_node:
        udp = [x for x in of.get("udp_us", []) if x]
        return (us / statistics.mean(udp), "UDP") if udp else None
    if size <= SHORT:
        return us * 1e3 / statistics.mean(limits["line_ns"]), "line"
    return (us / statistics.mean(of["memcpy_us"]), "memcpy") if of else None


def cell(found):
    return "-" if found is None else f"{found[0]:.3g} x {found[1]}"


def span(values, digits=3):
    return " and ".join(f"{v:.{digits}g}" for v in values)


def show(where, limits):
    """What was measured, before and after the turns."""
    if limits is None:
        print(f"\nLimits, {where}: not measured, one CPU")
        return
    print(f"\nLimits, {where}, before and after: CPUs {limits['cpus'][0]} and {limits['cpus'][1]} "
          f"share {limits['shared']} (as the kernel is told), a cache line from one to the other "
          f"{span(limits['line_ns'])} ns, a system call {span(limits['syscall_ns'])} ns")
    for size, of in sorted(limits["sizes"].items()):
        udp = [x for x in of["udp_us"] if x]
        print(f"  {size} B: memcpy {span(of['memcpy_us'])} us"
              + (f", bare UDP one way {span(udp)} us" if udp else ""))
