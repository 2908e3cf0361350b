# SPDX-License-Identifier: BSD-2-Clause
"""Modules of the headers that are not MPI's, for `use mpi` and `use mpi_f08`: mpi_ext and mpi_f08_ext
are mpi-ext.h, mpisp and mpisp_f08 are mpisp.h.

survivors.c and stages.c have what they call.  A call is its names, and its arguments: name, type, and
what mpi_f08 says of it."""

IN, OUT, INOUT, LATER = 'intent(in)', 'intent(out)', 'intent(inout)', 'asynchronous'
GROUP, COMM = 'type(MPI_Group)', 'type(MPI_Comm)'
REQUEST = ('request', 'type(MPI_Request)', OUT)
# Of mpi-ext.h: a name, whether the Forum has taken it (then it is MPI_ and MPIX_), and what stands
# behind the communicator.
OF_COMM = [
    ('revoke', True, []),
    ('is_revoked', True, [('flag', 'logical', OUT)]),
    ('get_failed', True, [('failedgrp', GROUP, OUT)]),
    ('ack_failed', True, [('num_to_ack', 'integer', IN), ('num_acked', 'integer', OUT)]),
    ('agree', False, [('flag', 'integer', INOUT)]),
    ('iagree', False, [('flag', 'integer', LATER), REQUEST]),
    ('shrink', False, [('newcomm', COMM, OUT)]),
    ('ishrink', False, [('newcomm', COMM, LATER), REQUEST]),
    ('failure_ack', False, []),
    ('failure_get_acked', False, [('failedgrp', GROUP, OUT)]),
    ('repair', False, [('same_size', COMM, OUT), ('i_am_new', 'logical', OUT)]),
]
EXT = [([f'{p}_Comm_{name}' for p in ('MPIX', 'MPI')[:1 + taken]], [('comm', COMM, IN)] + args)
       for name, taken, args in OF_COMM]

FRAME = 'integer(selected_int_kind(18))'
WORLD = ('world', COMM, IN)
TEXT = 'character(len=*)'
SP = [([f'MPISP_{name}'], args) for name, args in [
    ('Init', []),
    ('Self', [('kind', 'integer', OUT), ('takeovers', 'integer', OUT), ('cluster', TEXT, OUT)]),
    ('World_count', [('n', 'integer', OUT)]),
    ('World', [('i', 'integer', IN), ('world', COMM, OUT), ('name', TEXT, OUT)]),
    ('World_use', [('which', 'integer', IN)]),
    ('Frame_begin', [WORLD, ('frame', FRAME, OUT), ('again', 'logical', OUT)]),
    ('Frame_end', [WORLD, ('frame', FRAME, IN)]),
    ('Run', [WORLD, ('setup', 'procedure(MPISP_Setup_function)', 'optional'),
             ('frame_fn', 'procedure(MPISP_Frame_function)', 'optional')]),
    ('Comm_repair', [('broken', COMM, IN), ('same_size', COMM, OUT), ('i_am_new', 'logical', OUT)]),
    ('Policy', [WORLD, ('pick', 'procedure(MPISP_Pick_function)', 'optional')]),
    ('On_event', [('fn', 'procedure(MPISP_Event_function)', 'optional')]),
    ('Chain', [('ops', TEXT, IN)]),
    ('Alive', []),
]]
# What those procedures are; the last argument of a callback of C's is a variable's here.
SP_BEFORE = [
    'type, bind(C) :: MPISP_Candidate',
    '  integer :: id, amount, mine, weight',
    'end type',
    'abstract interface',
    '  subroutine MPISP_Setup_function(world, ierror)',
    '    {import}',
    '    {comm} :: world',
    '    integer :: ierror',
    '  end subroutine',
    '  subroutine MPISP_Frame_function(frame, again, ierror)',
    f'    {FRAME} :: frame',
    '    logical :: again',
    '    integer :: ierror',
    '  end subroutine',
    '  subroutine MPISP_Pick_function(c, n, out, bytes, tag, picked)',
    '    import',
    '    integer :: n, tag, picked',
    '    type(MPISP_Candidate) :: c(n)',
    '    logical :: out',
    f'    {FRAME} :: bytes',
    '  end subroutine',
    '  subroutine MPISP_Event_function(kind, frame, text)',
    '    integer :: kind',
    f'    {FRAME} :: frame',
    f'    {TEXT} :: text',
    '  end subroutine',
    'end interface',
    'interface',
    f'  {FRAME} function MPISP_Frame_number(frame)',
    f'    {FRAME}, {IN} :: frame',
    '  end function',
    '  integer function MPISP_Frame_rank(frame)',
    f'    {FRAME}, {IN} :: frame',
    '  end function',
    '  integer function MPISP_Frame_cluster(frame)',
    f'    {FRAME}, {IN} :: frame',
    '  end function',
    'end interface',
]
# name: what it includes, whether it is beside mpi_f08, what comes first, calls.
MODULES = {
    'mpi_ext': ('mpif-ext.h', False, [], EXT),
    'mpi_f08_ext': ('mpif-ext.h', True, [], EXT),
    'mpisp': ('mpispf.h', False, SP_BEFORE, SP),
    'mpisp_f08': ('mpispf.h', True, SP_BEFORE, SP),
}


def declare(name, t, how, f08):
    """mpi's handles are numbers, and it says of arguments only what they are."""
    if not f08:
        t = 'integer' if t.startswith('type(MPI_') else t
        how = 'optional' if how == 'optional' else ''
    return f"      {t}{', ' if how else ''}{how} :: {name}"


def subroutine(name, args, f08):
    out = [f"    subroutine {name}{'_f08' if f08 else ''}({', '.join([a for a, _, _ in args] + ['ierror'])})"]
    if f08 or any(t.startswith('procedure') for _, t, _ in args):
        out.append('      import')
    out += [declare(a, t, how, f08) for a, t, how in args]
    return out + [declare('ierror', 'integer', 'optional, ' + OUT, f08), '    end subroutine']


def make_module(name):
    include, f08, before, calls = MODULES[name]
    out = [f'module {name}'] + (['  use mpi_f08_types'] if f08 else [])
    out += ['  implicit none', f"  include '{include}'"]
    known = {'comm': COMM if f08 else 'integer', 'import': 'import' if f08 else ''}
    out += ['  ' + line.format(**known) for line in before] + ([] if f08 else ['  interface'])
    for names, args in calls:
        for call in names:
            body = subroutine(call, args, f08)
            out += [f'  interface {call}'] + body + ['  end interface'] if f08 else body
    return '\n'.join(out + ([] if f08 else ['  end interface']) + ['end module']) + '\n'
