#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""generate.py OUT: OUT/trace_calls.c, an MPI_X for every call worth a record.

What is noted of a call follows from the names of its arguments, which are the
standard's: comm; dest, source or root; tag; and the counts and types of buffers.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'abi'))
import generate as abi  # noqa: E402

# What takes no time and says nothing of the program's communication.
SKIP = re.compile(r'MPI_(T_.*|\w+_toint|\w+_fromint|Abi_.*|Aint_.*|Wtime|Wtick|Pcontrol|Initialized|Finalized|Get_(count|elements|address|hw|library|processor|version).*|'
                  r'Status_.*|Info_.*|Type_.*|Error_.*|Group_.*|\w*[aA]ttr\w*|\w*keyval\w*|\w*errhandler\w*|'
                  r'Comm_(rank|size|get_.*|set_.*|test_inter|remote_size|compare|group|remote_group)|'
                  r'Query_thread|Is_thread_main|Op_.*|Add_.*|Remove_.*|Cart_(get|rank|coords|shift|map)|'
                  r'Cartdim_get|Graph.*_get|Graph_.*neighbors.*|Dist_graph_neighbors.*|Topo_test|Dims_create|'
                  r'Address|Alloc_mem|Free_mem|Pack.*|Unpack.*)$')
GIVES = re.compile(r'MPI_(I?[bsr]?send|[BSR]?send|Send|I?sendrecv|I?bcast|Bcast|I?[Rr]educe|I?[Aa]llreduce|I?[Ss]can|I?[Ee]xscan|Psend)')

COLLECTIVE = re.compile(r'MPI_I(barrier|bcast|reduce|allreduce|reduce_scatter|reduce_scatter_block|scan|exscan|alltoall[vw]?|'
                        r'(neighbor_)?(all)?gatherv?|scatterv?|neighbor_alltoall[vw]?)(_c)?$')
SENDS = re.compile(r'MPI_(I?)([bsr]?)send(_init|recv|recv_replace)?(_c)?$', re.I)
RECEIVES = re.compile(r'MPI_(I?recv|Recv_init|I?sendrecv(_replace)?)(_c)?$', re.I)
MATCHED = re.compile(r'MPI_I?m(probe|recv)(_c)?$', re.I)
HOW = {'': 'STANDARD', 'b': 'BUFFERED', 's': 'SYNCHRONOUS', 'r': 'READY'}
COMPLETES = re.compile(r'MPI_(Wait|Test)(all|any|some)?$')


def sizes(f):
    """Statements that set c.out and c.in."""
    names = {p.name: p for p in f.params}
    wide = 'c' if f.name.endswith('_c') else ''
    out = []

    def noted(field, count, type_, guard):
        p = names[count]
        if p.array and names[type_].array:
            value = f'trace_bytes_w{wide}({count}, {type_}, comm)'
        elif p.array:
            value = f'trace_bytes_v{wide}({count}, {type_}, comm)'
        else:
            value = f'trace_bytes({count}, {type_})'
        out.append((f'if ({guard})\n\t\t' if guard else '') + f'c.{field} = {value};')

    if 'eighbor' in f.name:  # as many as neighbours: the counts of one
        for field, count, type_ in (('out', 'sendcount', 'sendtype'), ('in', 'recvcount', 'recvtype')):
            if count in names and not names[count].array:
                noted(field, count, type_, '')
        return out
    low = f.name.lower()
    gather, scatter = 'mpi_gather' in low or 'mpi_igather' in low, 'mpi_scatter' in low or 'mpi_iscatter' in low
    if 'replace' in low:  # one buffer, both ways
        noted('out', 'count', 'datatype', '')
        return out + ['c.in = c.out;']
    for s, t in (('sendcount', 'sendtype'), ('sendcounts', 'sendtype'), ('sendcounts', 'sendtypes')):
        if s in names and t in names:
            guard = 'trace_is_root(root, comm)' if scatter else \
                    'sendbuf != MPI_IN_PLACE' if 'sendbuf' in names and 'comm' in names else ''
            noted('out', s, t, guard if 'mpi_sendrecv' not in low else '')
            break
    for s, t in (('recvcount', 'recvtype'), ('recvcounts', 'recvtype'), ('recvcounts', 'recvtypes')):
        if s in names and t in names:
            guard = 'trace_is_root(root, comm)' if gather else \
                    'recvbuf != MPI_IN_PLACE' if scatter else ''
            noted('in', s, t, guard)
            break
    if 'count' in names and 'datatype' in names:
        noted('out' if GIVES.match(f.name) else 'in', 'count', 'datatype', '')
    elif 'recvcounts' in names and 'datatype' in names:
        noted('out', 'recvcounts', 'datatype', '')
    elif 'recvcount' in names and 'datatype' in names:
        noted('out', 'recvcount', 'datatype', '')
    return out


def messages(f):
    """Statements behind the sizes: what the call sends and takes."""
    names = [p.name for p in f.params]
    out = []
    sends = SENDS.match(f.name)
    if sends:
        tag = 'sendtag' if 'sendtag' in names else 'tag'
        out.append(f'trace_sends(&c, TRACE_{HOW[sends[2].lower()]}, dest, {tag});')
    if RECEIVES.match(f.name):
        out.append(f'trace_receives(&c, source, {"recvtag" if "recvtag" in names else "tag"});')
        if 'status' in names:
            out.append('trace_took(&c, status);')
    if out and 'request' in names:
        out.append(f'c.{"persistent" if "_init" in f.name else "began"} = *request;')
    if 'probe' in f.name and MATCHED.match(f.name):
        out.append(('if (*flag)\n\t\t\t' if 'flag' in names else '') + 'trace_probed(&c, *message, status);')
    if f.name == 'MPI_Cancel':
        out.append('trace_cancels(*request);')
    if f.name in ('MPI_Start', 'MPI_Startall'):
        out += [f'c.started = {f.params[-1].name};', f'c.nstarted = {"count" if f.name == "MPI_Startall" else "1"};']
    if 'newcomm' in names and not f.name.startswith('MPI_Comm_idup'):
        out.append('c.made = *newcomm;')
    return out


def over(f):
    """Statements behind a call that completes requests: which of them."""
    form = f.name[len('MPI_Wait'):]
    if form in ('', 'all'):
        body = ['trace_over(&c, 0, all);'] if not form else \
               ['for (int i = 0; i < count; i++)', '\ttrace_over(&c, i, all ? &all[i] : NULL);']
        if 'Test' in f.name:
            body = ['if (*flag)', *('\t' + x for x in body)]
    elif form == 'any':
        body = [f'if ({"*flag && " if "Test" in f.name else ""}*indx != MPI_UNDEFINED)', '\ttrace_over(&c, *indx, all);']
    else:
        body = ['for (int i = 0; i < *outcount; i++)', '\ttrace_over(&c, array_of_indices[i], all ? &all[i] : NULL);']
    requests = next(p.name for p in f.params if p.type.startswith('MPI_Request'))
    told = 'all' if form in ('', 'all') else 'NULL'
    return ['if (rc != MPI_SUCCESS)', f'\ttrace_over_failed(&c, {requests}, {told}, rc);', 'if (rc == MPI_SUCCESS) {',
            *('\t' + x for x in body), '}', 'free(own);']


def wrapper(f, number):
    names = {p.name: p for p in f.params}
    args = ', '.join(p.name for p in f.params)
    body = ['struct trace_call c;', '', f'trace_begin(&c, {number});']
    if 'comm' in names and names['comm'].type == 'MPI_Comm':
        body.append('c.comm = comm;')
    for peer in ('dest', 'root', 'source'):
        if peer in names and names[peer].type == 'int':
            body.append(f'c.peer = {peer};')
            break
    for tag in ('tag', 'sendtag'):
        if tag in names and names[tag].type == 'int':
            body.append(f'c.tag = {tag};')
            break
    if f.name == 'MPI_Abort':
        body += ['trace_end(&c);', 'trace_close();', f'return PMPI_Abort({args});']
    elif f.name in ('MPI_Comm_free', 'MPI_Comm_disconnect'):
        body.append('trace_end(&c);')
        body.append(f'return P{f.name}({args});')
    elif f.name == 'MPI_Finalize':
        body += ['trace_end(&c);', 'trace_close();', 'return PMPI_Finalize();']
    else:
        requests = next((p.name for p in f.params if p.type.startswith('MPI_Request')), None)
        after = messages(f)
        if COMPLETES.match(f.name):
            n = next((p.name for p in f.params if p.name in ('count', 'incount')), '1')
            status = f.params[-1].name
            body += [f'trace_watch(&c, {n}, {requests});', 'MPI_Status *own;',
                     f'MPI_Status *all = trace_statuses(&c, {status}, &own);']
            args = ', '.join([p.name for p in f.params[:-1]] + ['all'])
        elif 'status' in names and (RECEIVES.match(f.name) or MATCHED.match(f.name)):
            body += ['MPI_Status own;', 'if (status == MPI_STATUS_IGNORE)\n\t\tstatus = &own;']
        if MATCHED.match(f.name) and 'recv' in f.name:
            body.append('MPI_Request key = trace_message(*message);')
            if requests is None:
                body.append('trace_watch(&c, 1, &key);')
        free = f.name == 'MPI_Request_free'
        body.append(f'int rc = {"trace_request_free(&c, request)" if free else f"P{f.name}({args})"};')
        if COMPLETES.match(f.name):
            body += over(f)
        elif MATCHED.match(f.name) and 'recv' in f.name:
            body.append('if (trace_received(rc))\n\t\t' +
                        ('trace_renamed(key, *request);' if requests else 'trace_over(&c, 0, status);'))
        if COLLECTIVE.match(f.name):
            after.append(f'c.began = *{requests};')
        if f.name in ('MPI_Init', 'MPI_Init_thread'):
            body.append('if (rc == MPI_SUCCESS)\n\t\ttrace_open();')
        # sizes after the call: the arguments are right then
        after = sizes(f) + after
        done = 'trace_received(rc)' if RECEIVES.match(f.name) else 'rc == MPI_SUCCESS'
        body += [f'if ({done}) {{', *['\t' + x for x in after], '}'] if after else []
        body += ['trace_end(&c);', 'return rc;']
    return f'int\n{f.proto().split(" ", 1)[1]}\n{{\n' + '\n'.join(('\t' + x) if x else '' for x in body) + '\n}\n'


def main():
    fns = [f for f in abi.load_functions()[0] if not SKIP.match(f.name) and not f.varargs and f.ret == 'int']
    text = ['/* Generated: calls that are noted. */', '#include "trace.h"', '', '#include <stdlib.h>', '', 'const char *const trace_names[] = {']
    text += [f'\t"{f.name}",' for f in fns]
    text += ['};', 'const int trace_nnames = sizeof trace_names / sizeof *trace_names;', '']
    text += [wrapper(f, i) for i, f in enumerate(fns)]
    abi.write(f'{sys.argv[1]}/trace_calls.c', '\n'.join(text))


if __name__ == '__main__':
    main()
