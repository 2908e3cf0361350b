#!/usr/bin/env python3
"""Make the Fortran face of libmpi from the tables in libmpi/abi.

    generate.py OUT

OUT receives
    include/mpif.h  constants, sentinels (COMMON blocks) and functions, legal in fixed and free form
    mpi.f90         module mpi: the same with an explicit interface for every routine
    wrap.c          mpi_x_ for every routine of the f90 binding that needs no hand (HAND below); compiled
                    twice, the second time (LMPI_PROFILE) as pmpi_x_, which calls PMPI_X
    routines.txt    the names that exist, hand-written ones included

How each argument crosses is decided by its C type and, where that does not say enough, by
its kind in params.csv.  Helpers: fortran.h.
"""
import csv
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'abi'))
import generate as abi  # noqa: E402

# Written by hand in callbacks.c, attr.c, special.c.
HAND = {'Op_create', 'Comm_create_errhandler', 'File_create_errhandler', 'Win_create_errhandler',
        'Session_create_errhandler', 'Comm_create_keyval', 'Type_create_keyval', 'Win_create_keyval',
        'Keyval_create', 'Comm_get_attr', 'Comm_set_attr', 'Type_get_attr', 'Type_set_attr',
        'Win_get_attr', 'Win_set_attr', 'Attr_get', 'Attr_put', 'Grequest_start', 'Info_get',
        'Info_get_string', 'Session_get_nth_pset', 'Pcontrol', 'Wtime', 'Wtick', 'Aint_add',
        'Aint_diff', 'Type_get_contents', 'Register_datarep'}
# The specific names beside TYPE(C_PTR) overloads (MPI-4.1 9.2, 12.2).
CPTR = ('Alloc_mem', 'Win_allocate', 'Win_allocate_shared', 'Win_shared_query')
# Fortran only: a status is the same eight integers.
SKIP = {'Status_f082f', 'Status_f2f08', 'Sizeof'}
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

HANDLES = {'MPI_Comm': 'Comm', 'MPI_Datatype': 'Type', 'MPI_Errhandler': 'Errhandler',
           'MPI_File': 'File', 'MPI_Group': 'Group', 'MPI_Info': 'Info', 'MPI_Message': 'Message',
           'MPI_Op': 'Op', 'MPI_Request': 'Request', 'MPI_Session': 'Session', 'MPI_Win': 'Win'}
# Element indices that begin with 1 in Fortran.
INDICES = ('Waitany', 'Testany', 'Request_get_status_any', 'Waitsome', 'Testsome',
           'Request_get_status_some')
# Lengths of handle arrays that no argument says.
LENGTHS = {('Alltoallw', '*'): 'f_width(MPI_Comm_fromint(*comm))',
           ('neighbor', 'sendtypes'): 'f_neighbors(MPI_Comm_fromint(*comm), true)',
           ('neighbor', 'recvtypes'): 'f_neighbors(MPI_Comm_fromint(*comm), false)'}


def routines():
    """(C function, rows of params.csv by name in C) of the f90 binding."""
    rows = {}
    for p in abi.table('params.csv'):
        if p['in_c'] == 'yes':
            rows.setdefault(p['function'], []).append(p)
    out = []
    for row in abi.table('functions.csv'):
        f = abi.Function(row)
        if 'f90' in row['fortran'] and f.base not in SKIP:
            mine = sorted(rows.get(f.name, []), key=lambda r: int(r['position']))
            for p, r in zip(f.params, mine):
                r['c'] = p  # names differ here and there
            out.append((f, {r['c'].name: r for r in mine if 'c' in r}))
    return out


# ---------------------------------------------------------------- wrap.c

class Call:
    """One wrapper while it is put together."""

    def __init__(self, f, rows):
        self.f, self.rows = f, rows
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
    c.pre.append(f'int n_{p.name} = {ignored}{n};')
    c.pre.append(f'{t} few_{v}[F_FEW], *{v} = f_room(few_{v}, n_{p.name}, sizeof({t}));')
    c.no_memory(f'!{v}')
    c.free.append(f'f_done({v}, few_{v});')
    c.pre += [f'for (int i = 0; i < n_{p.name}; i++)', f'\t{v}[i] = MPI_{kind}_fromint({p.name}[i]);']
    if row['direction'] == 'inout':
        c.post += [f'for (int i = 0; i < n_{p.name}; i++)', f'\t{p.name}[i] = MPI_{kind}_toint({v}[i]);']
    c.args.append(v)


def handle(c, p, row, t):
    kind = HANDLES[t.split()[0]]
    c.params.append(f'int *{p.name}')
    if not t.endswith('*'):
        c.args.append(f'MPI_{kind}_fromint(*{p.name})')
        return
    t = t[:-1].strip()
    v = 'c_' + p.name
    if row['direction'] == 'out':
        c.pre.append(f'{t} {v} = 0;')
        c.post += [f'if (!*ierror)', f'\t*{p.name} = MPI_{kind}_toint({v});']
    else:
        c.pre.append(f'{t} {v} = MPI_{kind}_fromint(*{p.name});')
        c.post.append(f'*{p.name} = MPI_{kind}_toint({v});')
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
    elif row['kind'] == 'C_BUFFER2':
        # The address of the buffer is of no use in Fortran (MPI-4.1 3.6).
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
    """Nothing is spawned yet: the C call says so whatever its arguments are."""
    c.pre += [f'(void){p.name};', f'(void)len_{p.name};']
    c.args.append('NULL')


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


def wrapper(f, rows):
    c = Call(f, rows)
    for p in f.params:
        argument(c, p)
    count_from_one(c)
    params = ', '.join(c.params + ['int *ierror'] + c.hidden)
    lines = c.pre + [f'*ierror = C({f.base})({", ".join(c.args)});'] + c.post + c.free
    out = [f'void\nF({f.base.lower()})({params})', '{'] + ['\t' + x for x in lines] + ['}']
    if f.base in CPTR:
        name = f.base.lower()
        out.append(f'void F({name}_cptr)({params}) __attribute__((alias(S({name}))));')
    return '\n'.join(out)


def make_wrap(all_routines):
    out = ['/* Generated: mpi_x_ for the Fortran binding. */', '#include "fortran.h"', '']
    for f, rows in all_routines:
        if f.base not in HAND:
            out.append(wrapper(f, rows) + '\n')
    return '\n'.join(out)


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


def constants(external):
    out = []
    for r in abi.table('fortran_constants.csv'):
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

KINDS = {'INTEGER(KIND=MPI_ADDRESS_KIND)': 'integer(kind=8)',
         'INTEGER(KIND=MPI_OFFSET_KIND)': 'integer(kind=8)',
         'INTEGER(KIND=MPI_COUNT_KIND)': 'integer(kind=8)',
         'INTEGER': 'integer', 'LOGICAL': 'logical', 'CHARACTER*(*)': 'character(len=*)'}


def is_array(r):
    return '[' in r['c'].text or bool(r['length']) or r['kind'] in ('STRING_ARRAY', 'STRING_2DARRAY')


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
    returns = {'Wtime': 'double precision', 'Wtick': 'double precision',
               'Aint_add': 'integer(kind=8)', 'Aint_diff': 'integer(kind=8)'}.get(f.base)
    if not returns and f.base != 'Pcontrol':
        names.append('ierror')
    head = f'{returns} function' if returns else 'subroutine'
    out = [f'{head} {prefix}{f.name}({", ".join(names)})']
    # a length that sizes another argument is declared before it
    for r in sorted(use, key=lambda r: r['kind'] == 'STRING_2DARRAY'):
        out += dummy(r)
    if 'ierror' in names:
        out.append('integer :: ierror')
    out.append('end function' if returns else 'end subroutine')
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


def free_form(lines):
    """Fold what is longer than free form likes."""
    out = []
    for x in lines:
        while len(x) > 110:
            cut = x.rindex(', ', 0, 108) + 2
            out.append(x[:cut] + '&')
            x = '    ' + x[cut:]
        out.append(x)
    return '\n'.join(out) + '\n'


SIZEOF = ['integer(1)', 'integer(2)', 'integer(4)', 'integer(8)', 'real(4)', 'real(8)', 'real(10)', 'real(16)',
          'complex(4)', 'complex(8)', 'complex(10)', 'complex(16)', 'logical(1)', 'logical(2)', 'logical(4)',
          'logical(8)', 'character(len=*)']


def sizeofs():
    head, body = ['interface MPI_Sizeof'], ['contains']
    for i, t in enumerate(SIZEOF):
        head.append(f'module procedure mpi_sizeof_{i}')
        size = 'len(x)' if t.startswith('character') else f'storage_size(x) / 8'
        body += [f'subroutine mpi_sizeof_{i}(x, size, ierror)', f'{t}, dimension(..) :: x',
                 'integer :: size, ierror', f'size = {size}', 'ierror = 0', 'end subroutine']
    return head + ['end interface'], body


def make_module(all_routines):
    out = ['! Module mpi.  Generated from the tables of libmpi.', 'module mpi', 'implicit none', 'public']
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
    out += callbacks() + ['end interface', 'external :: MPI_CONVERSION_FN_NULL']
    head, body = sizeofs()
    return free_form(out + head + body + ['end module mpi'])


def main():
    out = sys.argv[1]
    all_routines = routines()
    names = {f.base for f, _ in all_routines} | set(REMOVED)
    abi.write(f'{out}/include/mpif.h', make_mpif())
    abi.write(f'{out}/mpi.f90', make_module(all_routines))
    abi.write(f'{out}/wrap.c', make_wrap(all_routines))
    abi.write(f'{out}/routines.txt', ''.join(f'mpi_{n.lower()}_\n' for n in sorted(names)))


if __name__ == '__main__':
    main()
