# SPDX-License-Identifier: BSD-2-Clause
"""Requests, and the matching of messages at one proc."""
from . import wire
from .wire import ProtocolError

ANY = -1


class Request:
    def __init__(self, kind):
        self.kind = kind
        self.done = self.cancelled = False
        self.error = None


class RecvRequest(Request):
    def __init__(self, src, tag, cid):
        super().__init__("recv")
        self.src, self.tag, self.cid = src, tag, cid
        self.msg = None

    def wants(self, msg):
        return (self.cid == msg.cid and self.src in (ANY, msg.lsrank) and
                self.tag in (ANY, msg.tag))


class SendRequest(Request):
    """first: its first packet (None inside a client); rest: bytes not yet sent."""

    def __init__(self, first=None, rest=b"", wants_ack=False):
        super().__init__("send")
        self.first, self.rest, self.wants_ack = first, rest, wants_ack
        self.cancel_asked, self.cancel_reply = False, None
        self.local_msg = None


class Message:
    """What has arrived of a message.  on_match: called with the drqid to give back."""

    def __init__(self, cid, lsrank, tag, data, msglen, src_id=None, srqid=0, on_match=None):
        self.cid, self.lsrank, self.tag = cid, lsrank, tag
        self.data, self.msglen = bytearray(data), msglen
        self.src_id, self.srqid, self.on_match = src_id, srqid, on_match
        self.client = None
        self.req = None

    @property
    def complete(self):
        return len(self.data) == self.msglen


class Inbox:
    def __init__(self, drqid_short, handles):
        self.posted, self.unexpected, self.filling = [], [], {}
        self.drqid_short, self.handles = drqid_short, handles
        self.unexpected_max = 0

    def arrive(self, msg):
        for req in self.posted:
            if req.wants(msg):
                self.posted.remove(req)
                self._match(req, msg)
                return
        self.unexpected.append(msg)
        self.unexpected_max = max(self.unexpected_max, len(self.unexpected))

    def post(self, req):
        msg = self.peek(req)
        if msg:
            self.unexpected.remove(msg)
            self._match(req, msg)
        else:
            self.posted.append(req)

    def peek(self, req):
        return next((m for m in self.unexpected if req.wants(m)), None)

    def _match(self, req, msg):
        req.msg, msg.req = msg, req
        drqid = 0
        if not msg.complete or self.drqid_short:
            drqid = next(self.handles)
        if not msg.complete:
            self.filling[drqid] = msg
        if msg.on_match:
            msg.on_match(drqid)
        req.done = msg.complete

    def more(self, pk):
        """The next bytes of a long message."""
        msg = self.filling.get(pk.drqid)
        if msg is None:
            raise ProtocolError(f"rest of a message for drqid {pk.drqid:#x}, which waits for none")
        if msg.src_id != pk.src or msg.srqid != pk.srqid or msg.msglen != pk.msglen:
            raise ProtocolError("rest of a message that does not fit its first packet: " + repr(pk))
        if (msg.lsrank, msg.tag, msg.cid) != (pk.lsrank, pk.tag, pk.cid):
            raise ProtocolError("rest of a message with another rank, tag or context: " + repr(pk))
        msg.data += pk.payload
        if len(msg.data) > msg.msglen:
            raise ProtocolError(f"{len(msg.data)} bytes of a message of {msg.msglen}")
        if not pk.payload:
            raise ProtocolError("an empty packet in the middle of a message")
        if msg.complete:
            del self.filling[pk.drqid]
            msg.req.done = True

    def destroy(self, src_id, srqid):
        """The newest unmatched message with that id goes away; was there one?"""
        for msg in reversed(self.unexpected):
            if msg.src_id == src_id and msg.srqid == srqid:
                self.unexpected.remove(msg)
                return True
        return False

    @property
    def leftovers(self):
        return len(self.unexpected) + len(self.filling)


def is_first(pk):
    return pk.type == wire.PK_DATASYNC or pk.len == pk.msglen
