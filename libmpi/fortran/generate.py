#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make the Fortran face of libmpi from the tables in libmpi/abi.

    generate.py OUT

OUT receives
    include/mpif.h  constants, sentinels (COMMON blocks) and functions, legal in fixed and free form
    mpi.f90         module mpi: the same with an explicit interface for every routine
    wrap.c          mpi_x_ for every routine that needs no hand (HAND below), and its other names for module
                    mpi_f08; compiled twice, the second time (LMPI_PROFILE) as pmpi_x_, which calls PMPI_X
    special.h       the other names of the hand-written ones
    routines.txt    the names that exist, hand-written ones included
    mpi_f08*.f90    see f08.py

How each argument crosses is decided by its C type and, where that does not say enough, by
its kind in params.csv.  Helpers: fortran.h.
"""
import csv
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'abi'))
import generate as abi  # noqa: E402
import ext  # noqa: E402
import f08  # noqa: E402
from rows import HANDLES, KINDS, free_form, is_array, returns, routines  # noqa: E402

# Written by hand in callbacks.c, attr.c, special.c.
HAND = {'Op_create', 'Comm_create_errhandler', 'File_create_errhandler', 'Win_create_errhandler',
        'Session_create_errhandler', 'Comm_create_keyval', 'Type_create_keyval', 'Win_create_keyval',
        'Keyval_create', 'Comm_get_attr', 'Comm_set_attr', 'Type_get_attr', 'Type_set_attr',
        'Win_get_attr', 'Win_set_attr', 'Attr_get', 'Attr_put', 'Grequest_start', 'Info_get',
        'Info_get_string', 'Session_get_nth_pset', 'Pcontrol', 'Wtime', 'Wtick', 'Aint_add',
        'Aint_diff', 'Type_get_contents', 'Register_datarep', 'Op_create_c', 'Register_datarep_c',
        'Type_get_contents_c'}
# The specific names beside TYPE(C_PTR) overloads (MPI-4.1 9.2, 12.2).
CPTR = ('Alloc_mem', 'Win_allocate', 'Win_allocate_shared', 'Win_shared_query')
# Names that MPI-3 removed, in the Fortran binding only: special.c.
REMOVED = {'Address': ('location', 'address'),
           'Errhandler_create': ('function', 'errhandler'),
           'Errhandler_get': ('comm', 'errhandler'),
           'Errhandler_set': ('comm', 'errhandler'),
           'Type_extent': ('datatype', 'extent'),
           'Type_hindexed': ('count', 'blocklengths(*)', 'displacements(*)', 'oldtype', 'newtype'),
           'Type_hvector': ('count', 'blocklength', 'stride', 'oldtype', 'newtype'),
           'Type_lb': ('datatype', 'displacement'),
           'Type_struct': ('count', 'blocklengths(*)', 'displacements(*)', 'types(*)', 'newtype'),
           'Type_ub': ('datatype', 'displacement')}

# Element indices that begin with 1 in Fortran.
INDICES = ('Waitany', 'Testany', 'Request_get_status_any', 'Waitsome', 'Testsome',
           'Request_get_status_some')
# Lengths of handle arrays that no argument says.
LENGTHS = {('Alltoallw', '*'): 'f_width(MPI_Comm_fromint(*comm))',
           ('neighbor', 'sendtypes'): 'f_neighbors(MPI_Comm_fromint(*comm), true)',
           ('neighbor', 'recvtypes'): 'f_neighbors(MPI_Comm_fromint(*comm), false)'}


# ---------------------------------------------------------------- wrap.c

class Call:
    """One wrapper while it is put together."""

    def __init__(self, f, rows):
        self.f, self.rows, self.f08 = f, rows, False
        self.params, self.hidden, self.pre, self.args, self.post, self.free = [], [], [], [], [], []

    def no_memory(self, cond):
        self.pre.append(f'if ({cond}) {{')
        self.pre += ['\t' + x for x in self.free]
        self.pre += ['\t*ierror = MPI_ERR_NO_MEM;', '\treturn;', '}']


def array_length(base, p, row):
    if row['length'] != '*':
        return f'*{row["length"]}'
    key = ('neighbor', p.name) if 'eighbor' in base else ('Alltoallw', '*')
    return LENGTHS[key]


def handle_array(c, p, row, t):
    kind, n, v = HANDLES[t], array_length(c.f.base, p, row), 'c_' + p.name
    ignored = f'f_in_place(sendbuf) ? 0 : ' if p.name == 'sendtypes' else ''
    c.params.append(f'int {p.name}[]')
    c.pre.append(f'MPI_Count n_{p.name} = {ignored}{n};')
    c.pre.append(f'{t} few_{v}[F_FEW], *{v} = f_room(few_{v}, n_{p.name}, sizeof({t}));')
    c.no_memory(f'!{v}')
    c.free.append(f'f_done({v}, few_{v});')
    c.pre += [f'for (MPI_Count i = 0; i < n_{p.name}; i++)', f'\t{v}[i] = MPI_{kind}_fromint({p.name}[i]);']
    if c.f.base == 'Startall':
        c.pre.append(f'f_starting(n_{p.name}, {p.name});')
    if c.f.base.startswith('Request_get_status'):
        c.post += [f'for (MPI_Count i = 0; i < n_{p.name}; i++)', f'\tf_seen({p.name}[i], {v}[i]);']
    if row['direction'] == 'inout':
        c.post += [f'for (MPI_Count i = 0; i < n_{p.name}; i++)', '\t' + handle_back(kind, f'{p.name}[i]', f'{v}[i]')]
    c.args.append(v)


def handle_back(kind, to, handle):
    if kind == 'Request':
        return f'f_request_back(&{to}, {handle});'
    return f'{to} = MPI_{kind}_toint({handle});'


def handle(c, p, row, t):
    kind = HANDLES[t.split()[0]]
    c.params.append(f'int *{p.name}')
    if not t.endswith('*'):
        if c.f.base == 'Request_get_status':
            c.post.append(f'f_seen(*{p.name}, MPI_Request_fromint(*{p.name}));')
        c.args.append(f'MPI_{kind}_fromint(*{p.name})')
        return
    t = t[:-1].strip()
    v = 'c_' + p.name
    if row['direction'] == 'out':
        c.pre.append(f'{t} {v} = 0;')
        c.post += [f'if (!*ierror)', f'\t*{p.name} = MPI_{kind}_toint({v});']
    else:
        c.pre.append(f'{t} {v} = MPI_{kind}_fromint(*{p.name});')
        if c.f.base == 'Start':
            c.pre.append(f'f_starting(1, {p.name});')
        c.post.append(handle_back(kind, f'*{p.name}', v).replace('&*', ''))
    c.args.append('&' + v)


def string(c, p, row):
    v = 'c_' + p.name
    c.hidden.append(f'size_t len_{p.name}')
    if row['direction'] == 'in':
        c.params.append(f'const char *{p.name}')
        c.pre.append(f'char *{v} = f_string({p.name}, len_{p.name});')
        c.no_memory(f'!{v}')
        c.free.append(f'free({v});')
    else:
        size = row['length'] or {'datarep': 'MPI_MAX_DATAREP_STRING', 'key': 'MPI_MAX_INFO_KEY'}[p.name]
        c.params.append(f'char *{p.name}')
        c.pre.append(f'char {v}[{size}] = "";')
        c.post += ['if (!*ierror)', f'\tf_put({p.name}, len_{p.name}, {v});']
    c.args.append(v)


def plain(c, p, row):
    """Whatever is the same in both languages: pointers, and values by reference."""
    t = p.type
    if t.endswith('*') or p.array or '[' in p.text:
        dims = p.text[p.text.rindex(p.name) + len(p.name):] if '[' in p.text else ''
        c.params.append(f'{t}{"" if t.endswith("*") else " "}{p.name}{dims}')
        if row['kind'] == 'WEIGHT' and row['direction'] == 'in':
            c.args.append(f'f_weights({p.name})')
        elif row['kind'] == 'ERROR_CODE' and p.array:
            c.args.append(f'f_errcodes({p.name})')
        else:
            c.args.append(p.name)
        return
    c.params.append(f'{t} *{p.name}')
    c.args.append('*' + p.name)


def argument(c, p):
    row, t = c.rows.get(p.name, {'kind': '', 'direction': 'in', 'length': ''}), p.type
    base = t.replace('const ', '').replace('*', '').strip()
    if row['kind'] in ('ARGUMENT_COUNT', 'ARGUMENT_LIST'):
        c.args.append('NULL' if '*' in p.text else '0')
    elif row['kind'] == 'BUFFER' and t.endswith('void *') and not p.array:
        c.params.append(f'void *{p.name}')
        c.args.append(f'f_buffer({p.name})')
    elif row['kind'] == 'C_BUFFER2' and c.f08:
        c.params.append(f'void **{p.name}')
        c.args.append(p.name)
    elif row['kind'] == 'C_BUFFER2':
        # The address of the buffer is of no use without TYPE(C_PTR) (MPI-4.1 3.6).
        c.params.append(f'void *{p.name}')
        c.pre += [f'void *c_{p.name};', f'(void){p.name};']
        c.args.append('&c_' + p.name)
    elif base == 'MPI_Status':
        c.params.append(f'int *{p.name}')
        c.args.append(f'f_status({p.name})')
    elif base in HANDLES:
        (handle_array(c, p, row, base) if p.array else handle(c, p, row, t.replace('const ', '')))
    elif row['kind'] == 'STRING':
        string(c, p, row)
    elif row['kind'] in ('STRING_ARRAY', 'STRING_2DARRAY'):
        c.params.append(f'const char *{p.name}')
        c.hidden.append(f'size_t len_{p.name}')
        spawn_strings(c, p, row)
    else:
        plain(c, p, row)


def spawn_strings(c, p, row):
    v, free = 'c_' + p.name, f'f_words_free(c_{p.name});'
    if p.name == 'argv':
        c.pre.append(f'char **{v} = f_words({p.name}, len_{p.name}, len_{p.name});')
    elif p.name == 'array_of_commands':
        c.pre.append(f'char **{v} = f_commands({p.name}, len_{p.name}, *count);')
    else:
        c.pre.append(f'char ***{v} = f_argvs({p.name}, len_{p.name}, *count);')
        free = f'f_argvs_free({v}, *count);'
    c.no_memory(f'!{v}')
    c.free.append(free)
    c.args.append(v)


def count_from_one(c):
    if c.f.base not in INDICES:
        return
    if c.f.base.endswith('any'):
        name = next(p.name for p in c.f.params if p.name in ('index', 'indx'))
        c.post += [f'if (!*ierror && *{name} != MPI_UNDEFINED)', f'\t++*{name};']
    else:
        c.post += ['if (!*ierror || *ierror == MPI_ERR_IN_STATUS)',
                   '\tfor (int i = 0; *outcount != MPI_UNDEFINED && i < *outcount; i++)',
                   '\t\tarray_of_indices[i]++;']


def body(f, rows, name, for_f08=False):
    c = Call(f, rows)
    c.f08 = for_f08
    for p in f.params:
        argument(c, p)
    count_from_one(c)
    params = ', '.join(c.params + ['int *ierror'] + c.hidden)
    lines = ['F_OPTIONAL(ierror);'] + c.pre + [f'*ierror = C({f.base})({", ".join(c.args)});'] + c.post + c.free
    return c, params, [f'void\n{name}({params})', '{'] + ['\t' + x for x in lines] + ['}']


def wrapper(f, rows):
    name = f.base.lower()
    c, params, out = body(f, rows, f'F({name})')
    if f.base in CPTR:
        out.append(f'void F({name}_cptr)({params}) __attribute__((alias(S({name}))));')
    if 'f08' not in f.bindings:
        pass
    elif f08.choice(rows):
        out += f08.descriptors(f, rows, c)
    elif any(r['kind'] == 'C_BUFFER2' for r in rows.values()):
        out += body(f, rows, f'F_08({name})', True)[2]
    else:
        out.append(f'F_ALSO_08({name});')
    return '\n'.join(out)


def make_wrap(all_routines):
    out = ['/* Generated: mpi_x_ for the Fortran bindings. */', '#include "section.h"', '']
    for f, rows in all_routines:
        if f.base not in HAND:
            out.append(wrapper(f, rows) + '\n')
    return '\n'.join(out)


def make_special(all_routines):
    return '/* Generated: what special.c is called by module mpi_f08. */\n' + ''.join(
        f'F_ALSO_08({f.base.lower()});\n' for f, _ in all_routines if f.base in HAND and 'f08' in f.bindings)


# ---------------------------------------------------------------- mpif.h

def fixed(lines):
    for x in lines:
        if len(x) > 72:
            raise SystemExit(f'longer than 72 columns: {x}')
    return '\n'.join(lines) + '\n'


def dimensions(text):
    """INTEGER(8,1) -> ('INTEGER', '(8,1)')"""
    if text.startswith('CHARACTER(1)'):
        return 'CHARACTER', text[len('CHARACTER(1)'):]
    return text.split('(')[0], '(' + text.split('(')[1]


# Not of the ABI: what compat.h defines for C.
MARKERS = [{'name': 'MPI_LB', 'fortran_type': 'INTEGER', 'form': 'handle', 'value': '702'},
           {'name': 'MPI_UB', 'fortran_type': 'INTEGER', 'form': 'handle', 'value': '703'}]


def constants(external):
    out = []
    for r in [*abi.table('fortran_constants.csv'), *MARKERS]:
        n, t = r['name'], r['fortran_type']
        if r['form'] == 'sentinel':
            t, dims = dimensions(t)
            dims = '' if n in ('MPI_BOTTOM', 'MPI_IN_PLACE', 'MPI_BUFFER_AUTOMATIC') else dims
            out += [f'      {t} {n}{dims}', f'      COMMON /{n.replace("MPI_", "MPIF_")}/ {n}']
        elif r['form'] == 'predefined-procedure':
            if external:
                out.append(f'      EXTERNAL {n}')
        else:
            kind = '_MPI_OFFSET_KIND' if 'OFFSET_KIND' in t else ''
            out += [f'      {t} {n}', f'      PARAMETER ({n}={r["value"]}{kind})']
    # kinds are used by others: first
    first = [x for x in out if 'MPI_OFFSET_KIND=' in x or x == '      INTEGER MPI_OFFSET_KIND']
    return first + [x for x in out if x not in first]


def make_mpif():
    out = ['! mpif.h - MPI for Fortran, in fixed and free form.',
           '! Generated from the tables of libmpi.  Modules are better: use mpi.']
    out += constants(True)
    for n in ('MPI_WTIME', 'MPI_WTICK', 'PMPI_WTIME', 'PMPI_WTICK'):
        out += [f'      DOUBLE PRECISION {n}', f'      EXTERNAL {n}']
    for n in ('MPI_AINT_ADD', 'MPI_AINT_DIFF', 'PMPI_AINT_ADD', 'PMPI_AINT_DIFF'):
        out += [f'      INTEGER(KIND=MPI_ADDRESS_KIND) {n}', f'      EXTERNAL {n}']
    return fixed(out)


# ---------------------------------------------------------------- mpi.f90

def dummy(r):
    """Declaration of one dummy argument."""
    n, t = r['param'], r['f90_type']
    if t == 'EXTERNAL':
        return [f'external :: {n}']
    if t == '<type>':
        # TARGET: a call may keep the address.  Without it gfortran takes the buffer of MPI_Irecv for
        # untouched after the call returned.
        return [f'type(*), dimension(*), target :: {n}', f'!GCC$ ATTRIBUTES NO_ARG_CHECK :: {n}']
    if r['kind'] == 'STATUS':
        return [f'integer :: {n}({"8,*" if is_array(r) else "8"})']
    # lengths of CHARACTER results are no arrays
    if t.startswith('CHARACTER'):
        dims = {'STRING_ARRAY': '(*)', 'STRING_2DARRAY': '(count,*)'}.get(r['kind'], '')
        return [f'character(len=*) :: {n}{dims}']
    dims = ''
    if is_array(r):
        dims = '(3,*)' if r['length'] == 'nx3' else '(*)'
    return [f'{KINDS[t]} :: {n}{dims}']


def interface(f, rows, prefix):
    use = [r for r in sorted(rows.values(), key=lambda r: int(r['position'])) if r['in_f90'] == 'yes']
    use = [r for r in use if r['kind'] != 'VARARGS']
    names = [r['param'] for r in use]
    result = returns(f)
    if not result and f.base != 'Pcontrol':
        names.append('ierror')
    head = f'{result} function' if result else 'subroutine'
    out = [f'{head} {prefix}{f.name}({", ".join(names)})']
    # a length that sizes another argument is declared before it
    for r in sorted(use, key=lambda r: r['kind'] == 'STRING_2DARRAY'):
        out += dummy(r)
    if 'ierror' in names:
        out.append('integer :: ierror')
    out.append('end function' if result else 'end subroutine')
    return out


def removed(name, args):
    out = [f'subroutine MPI_{name}({", ".join([a.split("(")[0] for a in args] + ["ierror"])})']
    for a in args:
        if a == 'location':
            out += ['type(*), dimension(*) :: location', '!GCC$ ATTRIBUTES NO_ARG_CHECK :: location']
        else:
            out.append('external :: function' if a == 'function' else f'integer :: {a}')
    return out + ['integer :: ierror', 'end subroutine']


def callbacks():
    """Interfaces of the predefined procedures: shape from their names."""
    out = []
    for r in abi.table('fortran_constants.csv'):
        n = r['name']
        if r['form'] != 'predefined-procedure' or n == 'MPI_CONVERSION_FN_NULL':
            continue
        kind = 'integer' if n in ('MPI_NULL_COPY_FN', 'MPI_DUP_FN', 'MPI_NULL_DELETE_FN') else 'integer(kind=8)'
        if 'DELETE' in n:
            out += [f'subroutine {n}(object, keyval, attribute_val, extra_state, ierror)',
                    'integer :: object, keyval, ierror', f'{kind} :: attribute_val, extra_state']
        else:
            out += [f'subroutine {n}(object, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)',
                    'integer :: object, keyval, ierror', 'logical :: flag',
                    f'{kind} :: extra_state, attribute_val_in, attribute_val_out']
        out.append('end subroutine')
    return out


def cptr(f, rows, prefix):
    """The overload whose address is a C pointer (module iso_c_binding)."""
    name = f'{prefix}{f.name}'
    out = [f'interface {name}'] + interface(f, rows, prefix)
    second = [x.replace(name + '(', name + '_cptr(') for x in interface(f, rows, prefix)]
    second = ['type(c_ptr) :: baseptr' if x == 'integer(kind=8) :: baseptr' else x for x in second]
    return out + [second[0], 'use, intrinsic :: iso_c_binding, only: c_ptr'] + second[1:] + ['end interface']


SYNC = ['subroutine MPI_F_sync_reg(buf)', 'type(*), dimension(*), target :: buf',
        '!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf', 'end subroutine']


def make_module(all_routines):
    all_routines = [x for x in all_routines if 'f90' in x[0].bindings]
    out = ['! Module mpi.  Generated from the tables of libmpi.', 'module mpi', 'use mpi_f08_types', 'implicit none',
           'public']
    out += [x.strip() for x in constants(False)]
    plain_ones = [x for x in all_routines if x[0].base not in CPTR]
    for prefix in ('', 'P'):
        out.append('interface')
        for f, rows in plain_ones:
            out += interface(f, rows, prefix)
        out.append('end interface')
        for f, rows in all_routines:
            if f.base in CPTR:
                out += cptr(f, rows, prefix)
    out.append('interface')
    for name, args in REMOVED.items():
        out += removed(name, args)
    out += callbacks() + f08.statuses('{}', '') + SYNC + ['end interface', 'external :: MPI_CONVERSION_FN_NULL']
    return free_form(out + ['end module mpi'])


def main():
    out = sys.argv[1]
    all_routines = routines()
    names = {f.base for f, _ in all_routines if 'f90' in f.bindings} | set(REMOVED) | {'F_sync_reg'}
    symbols = {f'mpi_{n.lower()}_\n' for n in names} | {f'mpi_{n}_\n' for n in f08.symbols(all_routines)}
    abi.write(f'{out}/include/mpif.h', make_mpif())
    abi.write(f'{out}/mpi.f90', make_module(all_routines))
    abi.write(f'{out}/wrap.c', make_wrap(all_routines))
    abi.write(f'{out}/special.h', make_special(all_routines))
    abi.write(f'{out}/routines.txt', ''.join(sorted(symbols)))
    abi.write(f'{out}/mpi_f08_types.f90', free_form(f08.make_types()))
    abi.write(f'{out}/mpi_f08.f90', free_form(f08.make_module(all_routines)))
    for name in ext.MODULES:
        abi.write(f'{out}/{name}.f90', ext.make_module(name))
    for prefix, tail in (('', ''), ('P', '-p')):
        abi.write(f'{out}/mpi_f08_pass{tail}.f90', free_form(f08.make_pass(all_routines, prefix)))


if __name__ == '__main__':
    main()
