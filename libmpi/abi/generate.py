#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make the ABI face of libmpi from the tables in this folder.

    generate.py OUT SOURCE...

OUT receives
    include/mpi.h   types, constants, handles, callbacks, all prototypes
    impl.h          prototypes of the implementations (impl_X) that the SOURCEs define
    entry.c         PMPI_X for every row of functions.csv, with MPI_X as weak alias, and for those
                    of functions_nonabi.csv that only the header of the Forum's stubs declares
    tables.h        predefined handles and error classes, for the library's own use
    exports.map     the linker's export list
    abi_check.c     a program that checks mpi.h against every row of the tables
    coll_impl.h     prototypes of the collectives (lmpi_coll_X) that the SOURCEs define
    implemented.txt the names that do something

An implementation is a function impl_X defined at the start of a line in a SOURCE.
If X has a large-count sibling X_c, impl_X serves both: it has the signature of X_c,
with every widened array as `struct lmpi_ints`; entry.c converts.  A SOURCE that
defines impl_X_c as well opts out of this: both then have their exact signatures.

A collective is a function lmpi_coll_X(struct lmpi_coll **, arguments of impl_X): it serves
X, the non-blocking IX, the persistent X_init, and their large-count siblings.
"""
import csv
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# May be called before MPI_Init and after MPI_Finalize.
ANYTIME = re.compile(
    r'MPI_(Initialized|Finalized|Init|Init_thread|Get_version|Get_library_version|Abi_.*|Info_.*|'
    r'Error_class|Error_string|Add_error_.*|Remove_error_.*|Session_.*|Errhandler_free|'
    r'Status_[gs]et_(error|source|tag|cancelled)|Test_cancelled|'
    r'T_.*|Pcontrol|Query_thread|Is_thread_main|Get_address)$')

# Out and inout arguments of these kinds may be null, or are looked at elsewhere: buffers may be empty
# or MPI_IN_PLACE, statuses be ignored, strings have no room.
MAY_BE_NULL = {'ARGUMENT_COUNT', 'ARGUMENT_LIST', 'BUFFER', 'ERROR_CODE', 'F08_STATUS', 'F90_STATUS',
               'LOGICAL_OPTIONAL', 'LOGICAL_VOID', 'STATUS', 'STRING', 'STRING_LENGTH',
               'THREAD_LEVEL', 'WEIGHT'}

# Plain values: no error code, no lock taken here.
PLAIN = re.compile(r'MPI_(Wtime|Wtick|Aint_add|Aint_diff|\w+_toint|\w+_fromint)$')


def table(name):
    with open(os.path.join(HERE, name), newline='') as f:
        return list(csv.DictReader(f))


class Param:
    """One C parameter: its text, its name, and the kinds of widening it can have."""

    def __init__(self, text):
        self.text = text
        m = re.search(r'(\w+)\s*((\[[^\]]*\])*)$', text)
        self.name = m.group(1)
        self.array = bool(m.group(2)) and '[]' in m.group(2)
        self.type = text[:m.start(1)].strip()


class Function:
    def __init__(self, row):
        self.name = row['name']
        self.ret = row['return_type']
        self.large = row.get('large_count', 'is-c')
        self.params_text = row['params'].split('; ') if row['params'] != 'void' else []
        self.varargs = '...' in self.params_text
        self.params = [Param(p) for p in self.params_text if p != '...']

    @property
    def base(self):
        return self.name[4:]

    def proto(self, prefix=''):
        return f"{self.ret} {prefix}{self.name}({', '.join(self.params_text) or 'void'})"


def load_functions():
    """The ABI's, and what programs built with the Forum's stubs ask for besides."""
    stubs_only = [r for r in table('functions_nonabi.csv') if r['reason'] == 'stubs-header-only']
    fns = [Function(r) for r in table('functions.csv') + stubs_only]
    return fns, {f.name: f for f in fns}


def scan(sources):
    """Names X of all impl_X, and of all lmpi_coll_X, defined in the sources."""
    found, colls = set(), set()
    for path in sources:
        with open(path) as f:
            text = f.read()
        found |= set(re.findall(r'^impl_(\w+)\(', text, re.M))
        colls |= set(re.findall(r'^lmpi_coll_([A-Z]\w+)\(', text, re.M))
    return found, colls


# ---------------------------------------------------------------- mpi.h

def wrap_prototype(text):
    out, line = [], ''
    for part in re.split(r'(?<=,) ', text):
        if line and len(line) + len(part) + 1 > 96:
            out.append(line)
            line = '    ' + part
        else:
            line = f'{line} {part}' if line else part
    return '\n'.join(out + [line])


def callback_type(name):
    row = next(r for r in table('callbacks.csv') if r['name'] == name)
    if row['alias_of']:
        return f'typedef {row["alias_of"]} {name};'
    params = row['params'].replace('; ', ', ')
    return f"typedef {row['return_type']} {name}({params});"


def emit_types(out):
    for r in table('types.csv'):
        if r['kind'] in ('handle', 'tool-handle', 'integer'):
            d = r['definition']
            out.append(f"typedef {d}{'' if d.endswith('*') else ' '}{r['name']};")
        elif r['kind'] == 'struct':
            fields = '\n'.join('    ' + f.strip() + ';' for f in r['definition'].split(';'))
            out.append(f"typedef struct {{\n{fields}\n}} {r['name']};")
    enums = {'MPI_T_cb_safety': 'TOOL_INFO_IFACE_CB_SAFETY_REQ_LEVELS',
             'MPI_T_source_order': 'TOOL_INFO_IFACE_SOURCE_ORDERINGS'}
    for name, category in enums.items():
        rows = [r for r in c_constants() if r['category'] == category]
        body = ',\n'.join(f"    {r['name']} = {r['value']}" for r in rows)
        out.append(f'typedef enum {name} {{\n{body}\n}} {name};')
    return set(enums.values())


def c_constants():
    """The ABI's, and our own (extensions.csv), which must not take values of the ABI's
    that mean the same kind of thing."""
    abi = [r for r in table('constants.csv') if r['language'] == 'C']
    own = table('extensions.csv')
    keys = {r['value'] for r in abi if r['category'] == 'ENV_INQ_AND_ATTR_KEYS'}
    for r in own:
        if r['category'] == 'IMPI_ATTR_KEYS' and r['value'] in keys:
            raise SystemExit(f"{r['name']} has the value of a key of the ABI")
    return abi + own


def emit_constants(out, skip):
    ints = {}
    for r in c_constants():
        if r['category'] in skip:
            continue
        if r['form'] == 'enum':
            ints.setdefault(r['category'], []).append(r)
        elif r['type'] == 'int':
            own = f" /* {r['origin']}: {r['since']} */" if r['origin'] == 'libmpi' else ''
            out.append(f"#define {r['name']} {paren(r['value'])}{own}")
        else:
            out.append(f"#define {r['name']} (({r['type']}){paren(r['value'])})")
    for category, rows in ints.items():
        out.append(f"\n/* {category.lower().replace('_', ' ')} */\nenum {{")
        out.append(',\n'.join(f"    {r['name']} = {r['value']}" for r in rows))
        out.append('};')


def paren(v):
    return f'({v})' if v.startswith('-') else v


def make_header(fns):
    out = ['/* mpi.h - the standard ABI of MPI 5.0 (ABI 1.0).  Generated from the tables in libmpi/abi. */',
           '#ifndef MPI_H_ABI', '#define MPI_H_ABI', '',
           '#include <stddef.h>', '#include <stdint.h>', '', '#if defined(__cplusplus)', 'extern "C" {', '#endif', '']
    enum_categories = emit_types(out)
    out.append('')
    for r in table('callbacks.csv'):
        out.append(wrap_prototype(callback_type(r['name'])))
    out.append('')
    emit_constants(out, enum_categories)
    out.append('')
    for r in table('handles.csv'):
        out.append(f"#define {r['name']} (({r['type']}){r['value_hex']})")
    for prefix in ('', 'P'):
        out.append('')
        for f in fns:
            out.append(wrap_prototype(f.proto(prefix) + ';'))
    with open(os.path.join(HERE, 'compat.h')) as f:
        out += ['', f.read().rstrip()]
    out += ['', '#if defined(__cplusplus)', '}', '#endif', '', '#endif', '']
    return '\n'.join(out)


# ---------------------------------------------------------------- implementations

def widened(base, wide, i):
    if len(base.params) != len(wide.params):
        raise SystemExit(f'{base.name} and {wide.name} differ in shape: write both implementations')
    return base.params[i].text != wide.params[i].text


def impl_proto(name, base, wide):
    """Prototype of impl_X."""
    sig = wide or base
    params = []
    for i, p in enumerate(sig.params):
        if wide and p.array and widened(base, wide, i):
            params.append(f'struct lmpi_ints {p.name}')
        else:
            params.append(p.text)
    if base.varargs:
        params.append('...')
    return f"{base.ret} impl_{name}({', '.join(params) or 'void'})"


def pick(fns, by_name, found):
    """(entry function) -> (implementation name, base, wide) for all implemented ones."""
    chosen = {}
    unknown = set(found)
    for f in fns:
        if f.large == 'is-c':
            continue
        x, c = f.base, by_name.get(f.name + '_c')
        if x not in found:
            if c and c.base in found:
                chosen[c.name] = (c.base, c, None)
                unknown.discard(c.base)
            continue
        unknown.discard(x)
        if c is None:
            chosen[f.name] = (x, f, None)
        elif c.base in found:
            unknown.discard(c.base)
            chosen[f.name] = (x, f, None)
            chosen[c.name] = (c.base, c, None)
        else:
            chosen[f.name] = (x, f, c)
            chosen[c.name] = (x, f, c)
    if unknown:
        raise SystemExit('no MPI function of the tables: ' +
                         ', '.join('impl_' + u for u in sorted(unknown)))
    return chosen


def pick_collectives(by_name, colls):
    """(entry function) -> (coll name, base, wide, how)."""
    chosen = {}
    for x in colls:
        forms = [(f'MPI_{x}', 'BLOCKING'), (f'MPI_I{x[0].lower()}{x[1:]}', 'NONBLOCKING'),
                 (f'MPI_{x}_init', 'PERSISTENT')]
        for name, how in forms:
            c = by_name.get(name + '_c')
            for n in [name] + ([c.name] if c else []):
                chosen[n] = (x, by_name[name], c, how)
    return chosen


def make_coll_header(colls, by_name):
    out = ['/* Generated: the collectives. */', '#ifndef LMPI_COLL_IMPL_H',
           '#define LMPI_COLL_IMPL_H', '', '#include "mpi.h"', '#include "ints.h"', '',
           'struct lmpi_coll;', '']
    for x in sorted(colls):
        text = impl_proto(x, by_name[f'MPI_{x}'], by_name.get(f'MPI_{x}_c'))
        text = text.replace(f'impl_{x}(', f'lmpi_coll_{x}(struct lmpi_coll **coll, ')
        out.append(wrap_prototype(text + ';'))
    out += ['', '#endif', '']
    return '\n'.join(out)


def make_impl_header(chosen):
    out = ['/* Generated: the implementations behind the entry points. */',
           '#ifndef LMPI_IMPL_H', '#define LMPI_IMPL_H', '',
           '#include "mpi.h"', '#include "ints.h"', '']
    seen = set()
    for name, base, wide in chosen.values():
        if name not in seen:
            seen.add(name)
            out.append(wrap_prototype(impl_proto(name, base, wide) + ';'))
    out += ['', '#endif', '']
    return '\n'.join(out)


KINDS = [('MPI_Comm', 'COMM'), ('MPI_Win', 'WIN'), ('MPI_File', 'FILE'), ('MPI_Session', 'SESSION')]


def blamed(fn):
    """The object whose error handler an error of this call goes to."""
    if fn.base in ('File_open', 'File_delete', 'Register_datarep', 'Register_datarep_c'):
        return 'LMPI_ON_FILE, MPI_FILE_NULL'
    for p in fn.params:
        for t, kind in KINDS:
            if p.type == t and not p.array:
                return f'LMPI_ON_{kind}, {p.name}'
            if p.type == t + ' *' and not p.array and p.name in ('comm', 'win', 'fh', 'session'):
                return f'LMPI_ON_{kind}, {p.name} ? (void *)*{p.name} : NULL'
    return 'LMPI_ON_NONE, NULL'


def load_outs():
    """{base function: names of arguments that are one thing each which the call writes}"""
    outs = {}
    for r in table('params.csv'):
        if (r['direction'] in ('out', 'inout') and not r['length']
                and r['kind'] not in MAY_BE_NULL):
            outs.setdefault(r['function'], set()).add(r['param'])
    return outs


OUTS = load_outs()


def null_checks(fn):
    """Whoever forgets the & hears of it by name."""
    outs = OUTS.get(fn.name.removesuffix('_c'), ())
    return ''.join(f'\tif (!{p.name})\n\t\treturn lmpi_leave(&call, lmpi_null_argument("{p.name}"));\n'
                   for p in fn.params if p.name in outs and not p.array and p.type.endswith('*'))


def entry(fn, choice):
    name, base, wide = choice[:3]
    how = choice[3] if len(choice) == 4 else None
    if PLAIN.match(fn.name):
        args = ', '.join(p.name for p in fn.params)
        return f'{{\n\treturn impl_{name}({args});\n}}'
    if fn.name.startswith('MPI_T_'):  # errors go to no handler
        args = ', '.join(p.name for p in fn.params)
        return f'{{\n\tlmpi_lock();\n\tint rc = impl_{name}({args});\n\tlmpi_unlock();\n\treturn rc;\n}}'
    pre, args, post = [], [], []
    for i, p in enumerate(fn.params):
        if wide is None or not widened(base, wide, i):
            args.append(p.name)
            continue
        w = wide.params[i]
        if p.array:
            is_int = p.type.split()[-1] == 'int'
            args.append(f'(struct lmpi_ints){{{p.name}, {"false" if is_int else "true"}}}')
        elif w.type.endswith('*'):
            wide_type, own = w.type[:-1].strip(), p.type[:-1].strip()
            if own == wide_type:
                args.append(p.name)
                continue
            start = f'{p.name} ? *{p.name} : 0' if p.name == 'position' else '0'
            pre.append(f'\t{wide_type} wide_{p.name} = {start};\n')
            args.append(f'{p.name} ? &wide_{p.name} : NULL')
            post.append(f'\tif ({p.name} && !rc)\n\t\t*{p.name} = lmpi_narrow_{own}(wide_{p.name});\n')
        else:
            args.append(p.name)
    if fn.varargs:
        return f'{{\n\t(void){fn.params[0].name};\n\treturn 0;\n}}'
    check = '' if ANYTIME.match(fn.name) else (
        '\tif (!lmpi_running())\n\t\treturn lmpi_leave(&call, lmpi_not_running());\n')
    body = f'{{\n\tstruct lmpi_call call;\n\tint rc;\n{"".join(pre)}\n'
    body += f'\tlmpi_enter(&call, "{fn.name}", {blamed(fn)});\n{check}{null_checks(fn)}'
    if how:
        args = args[:-{'BLOCKING': 0, 'NONBLOCKING': 1, 'PERSISTENT': 2}[how] or None]
        request = 'NULL' if how == 'BLOCKING' else 'request'
        if how == 'PERSISTENT':
            body += '\t(void)info;\n'
        body = body.replace('\tint rc;\n', '\tint rc;\n\tstruct lmpi_coll *coll = NULL;\n', 1)
        body += f'\trc = lmpi_coll_{name}({", ".join(["&coll"] + args)});\n'
        body += f'\trc = lmpi_coll_go(coll, rc, LMPI_COLL_{how}, {request});\n'
    else:
        body += f'\trc = impl_{name}({", ".join(args)});\n{"".join(post)}'
    body += '\treturn lmpi_leave(&call, rc);\n}'
    return body


def stub(fn):
    if fn.varargs or (fn.ret != 'int' and not fn.ret.startswith('MPI_')):
        raise SystemExit(f'{fn.name} needs an implementation')
    unused = ''.join(f'\t(void){p.name};\n' for p in fn.params)
    if PLAIN.match(fn.name):
        if fn.name.endswith('_fromint'):
            return f'{{\n\treturn ({fn.ret})(intptr_t){fn.params[0].name};\n}}'
        return f'{{\n\treturn (int)(intptr_t){fn.params[0].name};\n}}'
    if fn.name.startswith('MPI_T_'):
        # what works on events: there are none, so no handle of one can be right
        return f'{{\n{unused}\treturn MPI_T_ERR_INVALID_HANDLE;\n}}'
    return (f'{{\n\tstruct lmpi_call call;\n\n{unused}'
            f'\tlmpi_enter(&call, "{fn.name}", {blamed(fn)});\n'
            f'\treturn lmpi_leave(&call, lmpi_unsupported(NULL));\n}}')


def make_entries(fns, chosen):
    out = ['/* Generated: every entry point of the ABI. */', '#pragma GCC visibility push(default)',
           '#include "mpi.h"', '#pragma GCC visibility pop', '#include "call.h"', '#include "coll.h"',
           '#include "coll_impl.h"', '#include "impl.h"', '']
    for f in fns:
        body = entry(f, chosen[f.name]) if f.name in chosen else stub(f)
        params = ', '.join(f.params_text) or 'void'
        out.append(f'LMPI_EXPORT {f.ret}\nP{f.name}({params})\n{body}')
        out.append(f'LMPI_EXPORT {f.ret} {f.name}({params}) LMPI_ALIAS("P{f.name}");\n')
    return '\n'.join(out)


# ---------------------------------------------------------------- tables and checks

# Of several names of one handle, the one that MPI_Type_get_name gives: the older one.
KNOWN_AS = {'MPI_C_FLOAT_COMPLEX': 'MPI_C_COMPLEX', 'MPI_LONG_LONG': 'MPI_LONG_LONG_INT'}


def make_tables():
    out = ['/* Generated: predefined handles and error classes. */', '']
    out.append('/* X(name, handle value, size, extent) */\n#define LMPI_DATATYPES(X) \\')
    rows = [r for r in table('handles.csv')
            if r['type'] == 'MPI_Datatype' and not r['alias_of'] and r['size_lp64']]
    out.append(' \\\n'.join(
        f"\tX({KNOWN_AS.get(r['name'], r['name'])}, {r['value_hex']}, {r['size_lp64']}, {r['extent_lp64']})"
        for r in rows))
    out.append('\n/* X(name, value) */\n#define LMPI_ERROR_CLASSES(X) \\')
    rows = [r for r in c_constants() if r['category'] == 'ERROR_CLASSES' and r['name'] != 'MPI_ERR_LASTCODE']
    out.append(' \\\n'.join(f"\tX({r['name']}, {r['value']})" for r in rows))
    out.append('')
    return '\n'.join(out)


def make_map(fns):
    names = ''.join(f'\t\tMPI_{f.base};\n\t\tPMPI_{f.base};\n' for f in fns)
    # mpi-ext.h, mpisp.h
    names += ''.join(f'\t\t{p}{n}_*;\n' for p in ('', 'P') for n in ('MPIX_Comm', 'MPISP'))
    names += ''.join(f'\t\t{p}MPI_Comm_{n};\n' for p in ('', 'P')
                     for n in ('revoke', 'is_revoked', 'get_failed', 'ack_failed'))
    return '{\n\tglobal:\n' + names + '\tlocal:\n\t\t*;\n};\n'


def make_check(fns):
    """Compile-time and run-time checks of mpi.h against every row."""
    out = ['/* Generated: mpi.h against every row of the tables; prints the number of checks. */',
           '#include <mpi.h>', 'typedef size_t has_size_t; /* programs for Open MPI take it from there */',
           '#include <stddef.h>', '#include <stdint.h>', '#include <stdio.h>', '']
    n = 0

    def sassert(cond, what):
        nonlocal n
        n += 1
        out.append(f'_Static_assert({cond}, "{what}");')

    for r in table('types.csv'):
        sassert(f"sizeof({r['name']}) == {r['size_lp64']}", f"size of {r['name']}")
        sassert(f"_Alignof({r['name']}) == {r['align_lp64']}", f"alignment of {r['name']}")
    for i, field in enumerate(('MPI_SOURCE', 'MPI_TAG', 'MPI_ERROR', 'MPI_internal')):
        sassert(f'offsetof(MPI_Status, {field}) == {4 * i}', f'offset of {field}')
    pointers = []
    for r in c_constants():
        if r['type'] == 'int':
            sassert(f"{r['name']} == {paren(r['value'])}", r['name'])
        elif r['type'] == 'MPI_Offset':
            sassert(f"{r['name']} == (MPI_Offset){paren(r['value'])}", r['name'])
            sassert(f"_Generic({r['name']}, MPI_Offset: 1, default: 0)", 'type of ' + r['name'])
        else:
            pointers.append((r['name'], r['value']))
            sassert(f"_Generic({r['name']}, {r['type']}: 1, default: 0)", 'type of ' + r['name'])
    for r in table('handles.csv'):
        pointers.append((r['name'], r['value_dec']))
        sassert(f"_Generic({r['name']}, {r['type']}: 1, default: 0)", 'type of ' + r['name'])
    for r in table('callbacks.csv'):
        n += 1
        if r['alias_of']:
            sassert(f"_Generic(({r['name']} *)0, {r['alias_of']} *: 1, default: 0)", r['name'])
        else:
            params = r['params'].replace('; ', ', ')
            sassert(f"_Generic(({r['name']} *)0, {r['return_type']} (*)({params}): 1, default: 0)", r['name'])
    for f in fns:
        for prefix in ('', 'P'):
            sassert(f'sizeof(&{prefix}{f.name}) == sizeof(void (*)(void))', f'{prefix}{f.name} is declared')
            n += 1
            out.append(f.proto(prefix) + ';')
    out += ['', 'static const struct {', '\tconst char *name;', '\tconst void *have;', '\tintptr_t want;',
            '} pointers[] = {']
    for name, value in pointers:
        out.append(f'\t{{"{name}", (const void *)(intptr_t){name}, {value}}},')
    out += ['};', '', 'int', 'main(void)', '{',
            '\tint bad = 0;', '',
            '\tfor (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)',
            '\t\tif ((intptr_t)pointers[i].have != pointers[i].want) {',
            '\t\t\tprintf("%s is %td, the ABI says %td\\n", pointers[i].name,',
            '\t\t\t       (intptr_t)pointers[i].have, pointers[i].want);',
            '\t\t\tbad++;', '\t\t}',
            f'\tprintf("%d of {n + len(pointers)} checks failed\\n", bad);',
            '\treturn bad != 0;', '}', '']
    return '\n'.join(out)


def write(path, text):
    """Only touch a file whose content changes, so that make rebuilds what it must."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path) as f:
            if f.read() == text:
                return
    with open(path, 'w') as f:
        f.write(text)


def main():
    out, sources = sys.argv[1], sys.argv[2:]
    fns, by_name = load_functions()
    found, colls = scan(sources)
    chosen = pick(fns, by_name, found)
    impl_header = make_impl_header(chosen)
    chosen.update(pick_collectives(by_name, colls))
    write(f'{out}/include/mpi.h', make_header(fns))
    write(f'{out}/impl.h', impl_header)
    write(f'{out}/coll_impl.h', make_coll_header(colls, by_name))
    write(f'{out}/entry.c', make_entries(fns, chosen))
    write(f'{out}/tables.h', make_tables())
    write(f'{out}/exports.map', make_map(fns))
    write(f'{out}/abi_check.c', make_check(fns))
    write(f'{out}/implemented.txt', ''.join(f'{n}\n' for n in sorted(chosen)))


if __name__ == '__main__':
    main()
