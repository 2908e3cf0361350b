# SPDX-License-Identifier: BSD-2-Clause
"""Credit per ordered pair of procs, and the queues of packets that wait for it."""
from collections import deque

from . import wire
from .wire import ProtocolError


class Credit:
    """Both sides of the counters, for all pairs of one client."""

    def __init__(self, ackmark, hiwater):
        self.ackmark, self.hiwater = ackmark, hiwater
        self.sent, self.taken, self.withheld = {}, {}, set()
        self.sent_max = 0  # largest number of packets that were under way

    def may_send(self, pair):
        return self.sent.get(pair, 0) < self.hiwater

    def count_sent(self, pair):
        n = self.sent.get(pair, 0) + 1
        self.sent[pair] = n
        self.sent_max = max(self.sent_max, n)

    def acked(self, pair):
        n = self.sent.get(pair, 0) - self.ackmark
        if n < 0:
            raise ProtocolError("PROTOACK for packets that were never sent")
        self.sent[pair] = n

    def count_taken(self, pair):
        """A counted packet came in; how many PROTOACKs go back."""
        n = self.taken.get(pair, 0) + 1
        if n > self.hiwater:
            raise ProtocolError(f"{n} packets without a PROTOACK, HIWATER is {self.hiwater}")
        self.taken[pair] = n
        return self.owed(pair)

    def owed(self, pair):
        if pair[1] in self.withheld:
            return 0
        acks, self.taken[pair] = divmod(self.taken.get(pair, 0), self.ackmark)
        return acks


class PairQueues:
    """One queue per pair of procs: a pair without credit stops nobody else.

    The rest of a long message waits beside the queue, so later messages overtake it."""

    def __init__(self, credit, interleave):
        self.credit, self.interleave = credit, interleave
        self.urgent = deque()
        self.pairs = {}  # pair -> (deque of packets, deque of iterators over packets)
        self.order = deque()

    def _pair(self, pair):
        if pair not in self.pairs:
            self.pairs[pair] = deque(), deque()
            self.order.append(pair)
        return self.pairs[pair]

    def put(self, pk):
        if pk.type in (wire.PK_PROTOACK, wire.PK_FINI):
            self.urgent.append(pk)
        else:
            self._pair((pk.src, pk.dest))[0].append(pk)

    def put_rest(self, packets):
        packets = deque(packets)
        if packets:
            self._pair((packets[0].src, packets[0].dest))[1].append(packets)

    def withdraw(self, pk):
        """Out of the queue again, if it has not left."""
        queue = self.pairs.get((pk.src, pk.dest), ((), ()))[0]
        if pk in queue:
            queue.remove(pk)
            return True
        return False

    def next(self):
        if self.urgent:
            return self.urgent.popleft()
        for _ in range(len(self.order)):
            pair = self.order[0]
            self.order.rotate(-1)
            queue, rests = self.pairs[pair]
            if not (queue or rests) or not self.credit.may_send(pair):
                continue
            self.credit.count_sent(pair)
            if queue:
                return queue.popleft()
            rest = rests[0]
            pk = rest.popleft()
            if not rest:
                rests.popleft()
            elif self.interleave:
                rests.rotate(-1)
            return pk
        return None

    @property
    def empty(self):
        return not self.urgent and not any(q or r for q, r in self.pairs.values())


class OneFifo:
    """LAM's: the first packet without credit stops the whole connection.  With
    protoack_queues also PROTOACKs wait in the queue, and for credit of their own
    direction (without being counted)."""

    def __init__(self, credit, protoack_queues):
        self.credit, self.protoack_queues = credit, protoack_queues
        self.queue = deque()

    def put(self, pk):
        if pk.type == wire.PK_PROTOACK and not self.protoack_queues:
            self.queue.appendleft(pk)
        else:
            self.queue.append(pk)

    def put_rest(self, packets):
        self.queue.extend(packets)

    def withdraw(self, pk):
        if pk in self.queue:
            self.queue.remove(pk)
            return True
        return False

    def next(self):
        if not self.queue:
            return None
        pk = self.queue[0]
        pair = pk.src, pk.dest
        free = pk.type == wire.PK_FINI or (pk.type == wire.PK_PROTOACK and
                                           not self.protoack_queues)
        if not free and not self.credit.may_send(pair):
            return None
        if pk.counted:
            self.credit.count_sent(pair)
        return self.queue.popleft()

    @property
    def empty(self):
        return not self.queue
