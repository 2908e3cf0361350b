# SPDX-License-Identifier: BSD-2-Clause
"""The tables of libmpi/abi as the Fortran bindings see them."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'abi'))
import generate as abi  # noqa: E402

HANDLES = {'MPI_Comm': 'Comm', 'MPI_Datatype': 'Type', 'MPI_Errhandler': 'Errhandler',
           'MPI_File': 'File', 'MPI_Group': 'Group', 'MPI_Info': 'Info', 'MPI_Message': 'Message',
           'MPI_Op': 'Op', 'MPI_Request': 'Request', 'MPI_Session': 'Session', 'MPI_Win': 'Win'}
KINDS = {'INTEGER(KIND=MPI_ADDRESS_KIND)': 'integer(kind=8)',
         'INTEGER(KIND=MPI_OFFSET_KIND)': 'integer(kind=8)',
         'INTEGER(KIND=MPI_COUNT_KIND)': 'integer(kind=8)',
         'INTEGER': 'integer', 'LOGICAL': 'logical', 'CHARACTER*(*)': 'character(len=*)'}


def routines():
    """(C function, rows of params.csv by name in C) of all bindings; f.bindings says of which.
    Large-count functions have the rows of their base."""
    rows = {}
    for p in abi.table('params.csv'):
        rows.setdefault(p['function'], []).append(p)
    out = []
    for row in abi.table('functions.csv'):
        f = abi.Function(row)
        f.bindings, f.base_of_c = row['fortran'], row['base_of_c']
        if f.bindings == 'no':
            continue
        known = ('yes', 'large-only') if f.base_of_c else ('yes',)
        mine = [dict(r) for r in rows.get(f.base_of_c or f.name, []) if r['in_c'] in known]
        mine.sort(key=lambda r: int(r['position']))
        for p, r in zip(f.params, mine):
            r['c'] = p  # names differ here and there
        out.append((f, {r['c'].name: r for r in mine if 'c' in r}))
    return out


def is_array(r):
    return '[' in r['c'].text or bool(r['length']) or r['kind'] in ('STRING_ARRAY', 'STRING_2DARRAY')


def returns(f):
    """The type of a function; nothing for subroutines."""
    return {'Wtime': 'double precision', 'Wtick': 'double precision',
            'Aint_add': 'integer(kind=8)', 'Aint_diff': 'integer(kind=8)'}.get(f.base)


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
