# SPDX-License-Identifier: BSD-2-Clause
"""A minimal IMPI 0.0 client and host, written from the protocol alone.

It shares nothing with lib/impi, so that the two check each other.  One process is one
client (its hosts and its procs); a proc is a thread that runs a script function.
Only the Python standard library is used.

    wire      constants, packets, splitting of the byte stream
    behave    what kind of peer this is: strict, or LAM with its habits
    channel   the server channel: authentication, rank, labels, DONE, FINI
    table     hosts and procs of the job, negotiated values
    dance     the connections between hosts
    flow      credit per ordered pair of procs, and the send queues
    agent     the host: one thread moves packets between sockets and procs
    match     posted receives, unexpected messages, cancel
    proc      what a script sees: send, recv, probe, cancel, barrier, ...
    coll      the collectives across clients that have evidence
    profile   the others, and MPI_Comm_split
    data      payload representations
    chaos     misbehaviour, by kind and seed
"""
