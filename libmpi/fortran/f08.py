# SPDX-License-Identifier: BSD-2-Clause
"""Module mpi_f08, for generate.py.

    mpi_f08_types.f90   handle types with == and /=, MPI_Status, MPI_Sizeof: for module mpi as well
    mpi_f08.f90         module mpi_f08: constants, abstract interfaces of callbacks, and for every routine
                        and PMPI routine a generic name with its specific procedures
    mpi_f08_pass.f90    the specific procedures with choice buffers (mpi_x_f08ts_): they only hand C
    mpi_f08_pass-p.f90  descriptors of them to mpi_x_desc_ (wrap.c); the same for pmpi_x

A handle is a structure of one INTEGER, passed like the INTEGER of module mpi: procedures without choice
buffers are other names of mpi_x_ (F_ALSO_08 in fortran.h).  Names are those of MPI-4.1 19.1.5, and
_c in those of large counts: what a profiling layer in Fortran defines.
"""
from rows import HANDLES, KINDS, abi, is_array, returns

# Overloading cannot tell these from their bases, so they have generic names of their own.
NAMED_C = ('Op_create_c', 'Register_datarep_c')

# Buffers of more pieces than one, or whose datatype an operation looks at, go through memory
# of their own if they are not contiguous (section.h).
REDUCTIONS = ('reduce', 'allreduce', 'reduce_scatter', 'reduce_scatter_block', 'scan', 'exscan', 'reduce_local')
PIECES = {'gather': ('recvbuf',), 'gatherv': ('recvbuf',), 'allgather': ('recvbuf',), 'allgatherv': ('recvbuf',),
          'scatter': ('sendbuf',), 'scatterv': ('sendbuf',),
          'alltoall': ('sendbuf', 'recvbuf'), 'alltoallv': ('sendbuf', 'recvbuf'), 'alltoallw': ('sendbuf', 'recvbuf'),
          'pack': ('outbuf',), 'pack_external': ('outbuf',), 'unpack': ('inbuf',), 'unpack_external': ('inbuf',)}


def ordered(rows):
    return sorted(rows.values(), key=lambda r: int(r['position']))


def dummies(rows):
    """Rows of the arguments that Fortran has."""
    return [r for r in ordered(rows) if r['kind'] not in ('VARARGS',) and (
        r['in_f90'] == 'yes' or r['in_c'] == 'large-only')]


def buffers(rows):
    return [r for r in ordered(rows) if r['kind'] == 'BUFFER']


def choice(rows):
    return bool(buffers(rows))


def specific(f, rows, prefix=''):
    return f'{prefix}{f.name}_f08{"ts" if choice(rows) else ""}'


def symbols(all_routines):
    """Names that libmpifort_abi has for the module, without mpi_ and the last underscore."""
    out = [specific(f, rows)[4:].lower() for f, rows in all_routines if 'f08' in f.bindings]
    return out + ['status_f2f08', 'status_f082f', 'status_f2f08_f08', 'status_f082f_f08', 'f_sync_reg_f08ts']


# ---------------------------------------------------------------- interfaces

def c_type(r):
    return r['c'].type.replace('const ', '').replace('*', '').strip()


def keeps(f, rows):
    """Does a call leave something behind that uses its buffers?"""
    return (any(r['kind'] in ('REQUEST', 'WINDOW') for r in rows.values()) or f.base.endswith('_begin')
            or '_attach' in f.base or f.base in ('Free_mem', 'Get_address'))


def intent(r):
    """Absent where a sentinel may stand for a result."""
    if r['kind'] in ('STATUS', 'ERROR_CODE', 'WEIGHT') and r['direction'] == 'out' and (
            r['kind'] == 'STATUS' or is_array(r)):
        return ''
    if r['kind'] == 'STATUS' and r['direction'] == 'inout':
        return ''
    return f', intent({r["direction"]})'


def buffer(f, rows, r):
    way = ', intent(in)' if r['c_const'] == 'yes' and f.base != 'Get_address' else ''
    # TARGET: see dummy() in generate.py
    way += ', asynchronous, target' if keeps(f, rows) else ''
    return f'type(*), dimension(..){way} :: {r["param"]}'


def shape(r):
    if r['kind'] in ('STRING_ARRAY', 'STRING_2DARRAY'):
        return '(*)' if r['kind'] == 'STRING_ARRAY' else '(count,*)'
    if r['f90_type'].startswith('CHARACTER') or not is_array(r):
        return ''
    return '(3,*)' if r['length'] == 'nx3' else '(*)'


def kind(f, r):
    """The type of an argument that is no buffer."""
    t, c = r['f90_type'], c_type(r)
    if t == 'EXTERNAL':
        return f'procedure({r["func_type"]}{"_c" if f.base_of_c and r["kind"] == "POLYFUNCTION" else ""})'
    if c in HANDLES:
        return f'type({c})'
    if r['kind'] in ('C_BUFFER', 'C_BUFFER2'):
        return 'type(c_ptr)'
    if r['kind'] == 'STATUS':
        return 'type(MPI_Status)'
    if t.startswith('CHARACTER'):
        fixed_length = r['length'].startswith('MPI_') and r['direction'] == 'out'
        return f'character(len={r["length"] if fixed_length else "*"})'
    if f.base_of_c and r['large_count_widened'] == 'yes' or not t:
        t = {'MPI_Count': 'INTEGER(KIND=MPI_COUNT_KIND)', 'MPI_Aint': 'INTEGER(KIND=MPI_ADDRESS_KIND)'}.get(c, t)
    return KINDS[t]


def declare(f, rows, r):
    if r['kind'] == 'BUFFER':
        return buffer(f, rows, r)
    way = '' if r['f90_type'] == 'EXTERNAL' else intent(r)
    return f'{kind(f, r)}{way} :: {r["param"]}{shape(r)}'


def procedure(f, rows, prefix):
    use, result = dummies(rows), returns(f)
    names = [r['param'] for r in use]
    if not result and f.base != 'Pcontrol':
        names.append('ierror')
    out = [f'{result + " function" if result else "subroutine"} {specific(f, rows, prefix)}({", ".join(names)})', 'import']
    # a length that sizes another argument is declared before it
    out += [declare(f, rows, r) for r in sorted(use, key=lambda r: r['kind'] == 'STRING_2DARRAY')]
    if 'ierror' in names:
        out.append('integer, optional, intent(out) :: ierror')
    return out + ['end function' if result else 'end subroutine']


def told_apart(f, rows, base, base_rows):
    """Does some argument differ in type or kind from the one at the same place?"""
    mine, other = dummies(rows), dummies(base_rows)
    return len(mine) != len(other) or any(
        a['kind'] != 'BUFFER' and kind(f, a) != kind(base, b) for a, b in zip(mine, other))


def generics(all_routines, prefix):
    known = {f.name: (f, rows) for f, rows in all_routines}
    out = []
    for f, rows in all_routines:
        if 'f08' not in f.bindings or f.base_of_c and f.base not in NAMED_C:
            continue
        out += [f'interface {prefix}{f.name}'] + procedure(f, rows, prefix)
        large = known.get(f.name + '_c')
        if large and large[0].base not in NAMED_C and told_apart(*large, f, rows):
            out += procedure(*large, prefix)
        out.append('end interface')
    return out


# ---------------------------------------------------------------- mpi_f08_types.f90

SIZEOF = ['integer(1)', 'integer(2)', 'integer(4)', 'integer(8)', 'real(4)', 'real(8)', 'real(10)', 'real(16)',
          'complex(4)', 'complex(8)', 'complex(10)', 'complex(16)', 'logical(1)', 'logical(2)', 'logical(4)',
          'logical(8)', 'character(len=*)']


def sizeofs():
    head, body = ['interface MPI_Sizeof'], []
    for i, t in enumerate(SIZEOF):
        head.append(f'module procedure mpi_sizeof_{i}')
        size = 'len(x)' if t.startswith('character') else 'storage_size(x) / 8'
        body += [f'subroutine mpi_sizeof_{i}(x, size, ierror)', f'{t}, dimension(..) :: x',
                 'integer, intent(out) :: size', 'integer, optional, intent(out) :: ierror', f'size = {size}',
                 'if (present(ierror)) ierror = 0', 'end subroutine']
    return head + ['end interface'], body


def comparisons():
    head, body = [], []
    for sign, name, join in (('==', 'eq', '.and.'), ('/=', 'ne', '.or.')):
        head.append(f'interface operator({sign})')
        for t in HANDLES:
            head.append(f'module procedure {t.lower()}_{name}')
            body += [f'elemental logical function {t.lower()}_{name}(a, b)', f'type({t}), intent(in) :: a, b',
                     f'{t.lower()}_{name} = a%MPI_VAL {sign} b%MPI_VAL', 'end function']
        head.append('end interface')
    private = [x.split()[-1] for x in head if 'module' in x]
    return head + [f'private :: {", ".join(private)}'], body


def make_types():
    out = ['! Handles and statuses of modules mpi and mpi_f08.  Generated from the tables of libmpi.',
           'module mpi_f08_types', 'implicit none', 'public']
    for t in HANDLES:
        out += [f'type, bind(C) :: {t}', 'integer :: MPI_VAL', 'end type']
    out += ['type, bind(C) :: MPI_Status', 'integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_internal(5)', 'end type']
    (compare, compare_body), (size, size_body) = comparisons(), sizeofs()
    return out + compare + size + ['contains'] + compare_body + size_body + ['end module mpi_f08_types']


# ---------------------------------------------------------------- callbacks

ADDRESSES = ('extra_state', 'attribute_val', 'attribute_val_in', 'attribute_val_out')


def callback_dummy(text):
    """The declaration of a C parameter of a callback."""
    p = abi.Param(text)
    t = p.type.replace('*', '').strip()
    if p.name in ('flag', 'complete'):
        return f'logical :: {p.name}'
    if p.name in ADDRESSES or t == 'MPI_Aint':
        return f'integer(kind=MPI_ADDRESS_KIND) :: {p.name}'
    if t == 'void':
        return f'type(c_ptr), value :: {p.name}'
    kinds = {'int': 'integer', 'MPI_Count': 'integer(kind=MPI_COUNT_KIND)', 'MPI_Offset': 'integer(kind=MPI_OFFSET_KIND)'}
    return f'{kinds.get(t) or f"type({t})"} :: {p.name}'


def callbacks():
    out = ['abstract interface']
    for r in abi.table('callbacks.csv'):
        if r['alias_of'] or r['name'].startswith('MPI_T_') or r['name'] in ('MPI_Copy_function', 'MPI_Delete_function'):
            continue
        params = [p for p in r['params'].split('; ') if p != '...']
        names = [abi.Param(p).name for p in params] + (['ierror'] if r['return_type'] == 'int' else [])
        out += [f'subroutine {r["name"]}({", ".join(names)})', 'import'] + [callback_dummy(p) for p in params]
        out += ['integer :: ierror'] * ('ierror' in names) + ['end subroutine']
    return out + ['end interface']


# ---------------------------------------------------------------- mpi_f08.f90

def sentinel(name, text):
    """A variable with the name in C of the COMMON block that module mpi has for it."""
    t = {'I': 'integer(c_int)', 'C': 'character(kind=c_char)'}[text[0]]
    dims = {'CHARACTER(1)(1)': '(1)', 'CHARACTER(1)(1,1)': '(1,1)'}.get(text, '')
    if 'STATUS' in name:
        t, dims = 'type(MPI_Status)', '(1)' if 'STATUSES' in name else ''
    elif name not in ('MPI_BOTTOM', 'MPI_IN_PLACE', 'MPI_BUFFER_AUTOMATIC') and not dims:
        dims = '(1)'
    return f"{t}, bind(C, name='{name.replace('MPI_', 'mpif_').lower()}_'), target :: {name}{dims}"


def constants():
    types = {r['name']: r['type'] for r in abi.table('handles.csv')}
    first, out, procedures = [], [], []
    for r in abi.table('fortran_constants.csv'):
        n, t = r['name'], r['fortran_type']
        if r['form'] == 'sentinel':
            out.append(sentinel(n, t))
        elif r['form'] == 'predefined-procedure':
            way = {'COPY': 'copy_attr_', 'DUP': 'copy_attr_', 'DELETE': 'delete_attr_'}
            of = next((k for k in ('Comm', 'Type', 'Win') if n.startswith(f'MPI_{k.upper()}_')), None)
            if of:
                which = next(v for k, v in way.items() if k in n)
                procedures.append(f'procedure(MPI_{of}_{which}function) :: {n}')
        elif r['form'] == 'handle':
            out.append(f'type({types[n]}), parameter :: {n} = {types[n]}({r["value"]})')
        elif r['form'] == 'kind':
            first.append(f'integer, parameter :: {n} = {r["value"]}')
        elif r['form'] == 'logical':
            out.append(f'logical, parameter :: {n} = .true.')
        else:
            of = '(kind=MPI_OFFSET_KIND)' if 'OFFSET_KIND' in t else ''
            out.append(f'integer{of}, parameter :: {n} = {r["value"]}')
    procedures += ['procedure(MPI_Datarep_conversion_function) :: MPI_CONVERSION_FN_NULL',
                   'procedure(MPI_Datarep_conversion_function_c) :: MPI_CONVERSION_FN_NULL_C']
    return first + out, procedures


def statuses(name, prefix):
    """Conversions of statuses; name makes the name of the specific procedure."""
    out = []
    for n, args in (('Status_f2f08', ('f_status', 'f08_status')), ('Status_f082f', ('f08_status', 'f_status'))):
        out += [f'subroutine {name.format(prefix + "MPI_" + n)}({", ".join(args)}, ierror)', 'import :: MPI_Status']
        for a, way in zip(args, ('in', 'out')):
            out.append(f'integer, intent({way}) :: f_status(8)' if a == 'f_status'
                       else f'type(MPI_Status), intent({way}) :: {a}')
        out += ['integer, optional, intent(out) :: ierror', 'end subroutine']
    return out


def make_module(all_routines):
    head, procedures = constants()
    out = ['! Module mpi_f08.  Generated from the tables of libmpi.', 'module mpi_f08',
           'use, intrinsic :: iso_c_binding, only: c_ptr, c_int, c_char', 'use mpi_f08_types', 'implicit none', 'public',
           'private :: c_ptr, c_int, c_char']
    out += head + callbacks() + procedures
    for prefix in ('', 'P'):
        out += generics(all_routines, prefix)
        lines = statuses('{}_f08', prefix)
        half = len(lines) // 2
        out += [f'interface {prefix}MPI_Status_f2f08'] + lines[:half] + ['end interface']
        out += [f'interface {prefix}MPI_Status_f082f'] + lines[half:] + ['end interface']
        out += [f'interface {prefix}MPI_F_sync_reg', f'subroutine {prefix}MPI_F_sync_reg_f08ts(buf)',
                'type(*), dimension(..), asynchronous, target :: buf', 'end subroutine', 'end interface']
    return out + ['end module mpi_f08']


# ---------------------------------------------------------------- mpi_f08_pass.f90

def passed(r):
    """An argument as C takes it: a handle is an INTEGER, a status eight."""
    n = r['param']
    if r['kind'] == 'BUFFER':
        return f'type(*), dimension(..) :: {n}'
    if r['kind'] == 'STRING':
        return f'character(kind=c_char) :: {n}(*)'
    wide = c_type(r) in ('MPI_Count', 'MPI_Aint', 'MPI_Offset')
    return f'integer{"(kind=8)" if wide else ""} :: {n}{"(*)" if is_array(r) or r["kind"] == "STATUS" else ""}'


def passing(f, rows, prefix):
    use = dummies(rows)
    names = [r['param'] for r in use] + ['ierror']
    strings = [r['param'] for r in use if r['kind'] == 'STRING']
    c_names = names + [f'len_{s}' for s in strings]
    ierror = 'integer, optional :: ierror'
    mine = [passed(r) if r['kind'] != 'STRING' else f'character(len=*) :: {r["param"]}' for r in use] + [ierror]
    theirs = [passed(r) for r in use] + [ierror] + [f'integer(c_size_t), value :: len_{s}' for s in strings]
    uses = ['use, intrinsic :: iso_c_binding, only: c_char, c_size_t'] if strings else []
    symbol = f'{prefix.lower()}mpi_{f.base.lower()}_desc_'
    out = [f'subroutine {specific(f, rows, prefix)}({", ".join(names)})'] + uses + mine
    out += ['interface', f"subroutine c({', '.join(c_names)}) bind(C, name='{symbol}')"]
    out += ['import :: c_char, c_size_t'] * bool(strings) + theirs + ['end subroutine', 'end interface']
    values = names + [f'len({s}, c_size_t)' for s in strings]
    return out + [f'call c({", ".join(values)})', 'end subroutine']


def make_pass(all_routines, prefix):
    out = ['! What hands choice buffers to C.  Generated from the tables of libmpi.']
    for f, rows in all_routines:
        if 'f08' in f.bindings and choice(rows):
            out += passing(f, rows, prefix)
    return out


# ---------------------------------------------------------------- the C side of it

def operation(f):
    """What a call does, whatever of blocking, non-blocking and persistent it is."""
    name = (f.base[:-2] if f.base_of_c else f.base).lower()
    name = name[:-5] if name.endswith('_init') else name
    for lead in ('', 'i', 'neighbor_', 'ineighbor_'):
        if name.startswith(lead) and (name[len(lead):] in PIECES or name[len(lead):] in REDUCTIONS):
            return name[len(lead):]
    return name


def how(f, rows, r):
    """'staged', 'partitions', the parameters of count and datatype, or None for an address."""
    op = operation(f)
    if op in REDUCTIONS or r['param'] in PIECES.get(op, ()):
        return 'staged'
    if f.base in ('Psend_init', 'Precv_init'):
        return 'partitions'
    after = ordered(rows)[ordered(rows).index(r) + 1:][:2]
    if len(after) == 2 and after[1]['kind'] == 'DATATYPE' and not is_array(after[0]) and not is_array(after[1]) and (
            c_type(after[0]) in ('int', 'MPI_Count')):
        return [x['c'].name for x in after]
    return None


def descriptors(f, rows, c):
    """mpi_x_desc_, which makes the arguments of mpi_x_ of those of mpi_x_f08ts_."""
    pre, given, made = [], {}, False
    for r in buffers(rows):
        n, way = r['c'].name, how(f, rows, r)
        if way is None:
            given[n] = f'{n}->base_addr'
            continue
        made = True
        if way == 'staged':
            pre.append(f'void *at_{n} = f_staged(&call, {n}, {"true" if r["direction"] == "in" else "false"});')
            given[n] = f'at_{n}'
        elif way == 'partitions':
            pre.append(f'struct f_piece p_{n} = f_partitions(&call, {n}, *datatype);')
            given[n], given['datatype'] = f'p_{n}.at', f'&p_{n}.datatype'
        else:
            count, datatype = way
            pre.append(f'struct f_piece p_{n} = f_piece(&call, {n}, *{count}, *{datatype});')
            t = c_type(rows[count])
            pre.append(f'{t} n_{n} = {"(int)" if t == "int" else ""}p_{n}.count;')
            given[n], given[count], given[datatype] = f'p_{n}.at', f'&n_{n}', f'&p_{n}.datatype'
    # the names of mpi_x_'s parameters, whose declarations are C's
    params = []
    names = []
    for text in c.params:
        p = abi.Param(text)
        names.append(p.name)
        params.append(f'CFI_cdesc_t *{p.name}' if p.name in rows and rows[p.name]['kind'] == 'BUFFER' else text)
    hidden = [abi.Param(h).name for h in c.hidden]
    args = [given.get(n, n) for n in names]
    name = f.base.lower()
    head = f'void\nF_DESC({name})({", ".join(params + ["int *ierror"] + c.hidden)})'
    if not made:
        call = [f'F({name})({", ".join(args + ["ierror"] + hidden)});']
        return [head, '{'] + ['\t' + x for x in call] + ['}']
    call = [f'F({name})({", ".join(args + ["&rc"] + hidden)});']
    request = next((r['c'].name for r in rows.values() if r['kind'] == 'REQUEST'), None)
    if request and 'staged' in [how(f, rows, r) for r in buffers(rows)]:
        end = f'f_call_later(&call, rc, *{request}, {"true" if "_init" in f.base else "false"});'
    else:
        end = 'f_call_done(&call);'
    lines = ['struct f_call call = {0};', 'int rc;'] + pre
    lines += ['', 'rc = f_call_error(&call);', 'if (!rc)', '\t' + call[0], end, 'f_return(ierror, rc);']
    return [head, '{'] + ['\t' + x if x else '' for x in lines] + ['}']
