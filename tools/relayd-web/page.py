# SPDX-License-Identifier: BSD-2-Clause
"""The files of page/ as a C source: page.py DIR > page.c"""
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
files = sorted(pathlib.Path(sys.argv[1]).iterdir())
print('#include "page.h"\n')
for n, f in enumerate(files):
    data = ",".join(str(b - 256 if b > 127 else b) for b in f.read_bytes())
    print(f"static const char file{n}[] = {{{data}}};")
print("const struct web_file web_page[] = {")
for n, f in enumerate(files):
    url = "/" if f.name == "index.html" else "/" + f.name
    print(f'\t{{"{url}", "{TYPES[f.suffix]}", file{n}, sizeof file{n}}},')
print(f"}};\nconst unsigned web_npages = {len(files)};")
