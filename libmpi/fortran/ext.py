# SPDX-License-Identifier: BSD-2-Clause
"""Modules mpi_ext and mpi_f08_ext: mpi-ext.h for `use mpi` and `use mpi_f08`.

survivors.c has what they call.  A call is its name, whether the Forum has taken it (then it is MPI_
and MPIX_), and its arguments behind the communicator: name, type, and what mpi_f08 says of it."""

IN, OUT, INOUT, LATER = 'intent(in)', 'intent(out)', 'intent(inout)', 'asynchronous'
GROUP, COMM = 'type(MPI_Group)', 'type(MPI_Comm)'
REQUEST = ('request', 'type(MPI_Request)', OUT)
CALLS = [
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
]


def subroutine(name, args, f08):
    args = [('comm', COMM, IN)] + args + [('ierror', 'integer', 'optional, ' + OUT)]
    out = [f"    subroutine {name}{'_f08' if f08 else ''}({', '.join(a for a, _, _ in args)})"]
    if f08:
        out += ['      import'] + [f'      {t}, {how} :: {a}' for a, t, how in args]
    else:
        out += [f"      {t if t == 'logical' else 'integer'} :: {a}" for a, t, _ in args]
    return out + ['    end subroutine']


def make_module(f08):
    out = ['module mpi_f08_ext', '  use mpi_f08_types'] if f08 else ['module mpi_ext']
    out += ['  implicit none', "  include 'mpif-ext.h'"] + ([] if f08 else ['  interface'])
    for call, taken, args in CALLS:
        for prefix in ('MPIX', 'MPI') if taken else ('MPIX',):
            name = f'{prefix}_Comm_{call}'
            body = subroutine(name, args, f08)
            out += [f'  interface {name}'] + body + ['  end interface'] if f08 else body
    return '\n'.join(out + ([] if f08 else ['  end interface']) + ['end module']) + '\n'
