-- SPDX-License-Identifier: BSD-2-Clause
-- The Suci datagram for Wireshark: what relays, libmpi and libsuci say to each other over UDP.
--
-- Protocol   suci   UDP port 7812 and, by its look, any other (preferences "ports", "anywhere")
-- Shows      path header; ack block; lane header; parts; handshake; notes of relays; the IMPI
--            packet at the beginning of a block.  Of a sealed datagram: the path header, for the
--            rest is encrypted; of a sealed OPEN or ACCEPT the public keys, too.
-- Source     doc/wire.md.  All integers are big-endian.

local suci = Proto("suci", "Suci")
suci.prefs.ports = Pref.range("UDP ports", "7812", "Of relays and processes", 65535)
suci.prefs.anywhere = Pref.bool("On any port", true, "Take what looks like Suci on other ports")

local TYPES = {
	[0] = "DATA", "HELLO", "COOKIE", "OPEN", "ACCEPT", "RESET", "CLOSE", "CHALLENGE", "RESPONSE",
}
local NOTES = { "ABORT", "LEAVE", "PING", "RELAYS", "WAYS", "LOST", "LIGHT", "DOOR", "DEATH", "REST" }
local KINDS = { [1] = "libmpi", [2] = "relay", [4] = "gateway", [5] = "doors" }
local DOOR_OPS = {
	"REGISTER", "ADDRESS", "LEAVE", "IMPORT", "IMPORTED", "REFUSED", "HOLD", "DROP", "GONE", "ASK",
	"ANSWER", "WITHDRAW", "NAMED",
}
local REASON_SILENT = 2

local f = {
	version = ProtoField.uint8("suci.version", "Version", base.DEC, nil, 0xf0),
	type = ProtoField.uint8("suci.type", "Type", base.DEC, TYPES, 0x0f),
	flags = ProtoField.uint8("suci.flags", "Flags", base.HEX),
	ack_now = ProtoField.bool("suci.flags.ack_now", "ACK_NOW", 8, nil, 0x01),
	probe = ProtoField.bool("suci.flags.probe", "PROBE", 8, nil, 0x02),
	bare = ProtoField.bool("suci.flags.bare", "BARE", 8, nil, 0x04),
	more = ProtoField.bool("suci.flags.more", "MORE", 8, nil, 0x08),
	part = ProtoField.bool("suci.flags.part", "PART", 8, nil, 0x10),
	epoch = ProtoField.uint8("suci.flags.epoch", "EPOCH", base.DEC, nil, 0x60),
	sealed = ProtoField.bool("suci.flags.sealed", "SEALED", 8, nil, 0x80),
	ack_len = ProtoField.uint16("suci.ack_len", "Length of the ack block"),
	tag = ProtoField.uint32("suci.tag", "Path tag of the receiver", base.HEX),
	pn = ProtoField.uint32("suci.pn", "Packet number"),
	token = ProtoField.bytes("suci.token", "Token"),
	first_credit = ProtoField.uint16("suci.open.credit", "Packets before the first ack"),
	first_rtt = ProtoField.uint16("suci.open.rtt", "HELLO to COOKIE, units of 16 us"),
	time = ProtoField.uint32("suci.time_us", "Sender's clock, us"),
	-- ack block
	largest = ProtoField.uint32("suci.ack.largest", "Largest packet number here"),
	echo = ProtoField.uint32("suci.ack.echo_us", "Its time, us"),
	delay = ProtoField.uint16("suci.ack.delay_us", "Held back, us"),
	credit = ProtoField.uint16("suci.ack.credit", "Credit up to, low 16 bits"),
	ranges = ProtoField.uint8("suci.ack.ranges", "Further ranges"),
	aflags = ProtoField.uint8("suci.ack.flags", "Flags of the block", base.HEX),
	a_refused = ProtoField.bool("suci.ack.flags.refused", "REFUSED", 8, nil, 0x01),
	a_room = ProtoField.bool("suci.ack.flags.room", "ROOM", 8, nil, 0x02),
	a_ecn = ProtoField.bool("suci.ack.flags.ecn", "ECN", 8, nil, 0x04),
	first_len = ProtoField.uint16("suci.ack.first_len", "Packets of the first range"),
	gap = ProtoField.uint16("suci.ack.gap", "Missing"),
	len = ProtoField.uint16("suci.ack.len", "Then here"),
	refused_pn = ProtoField.uint32("suci.ack.refused.pn", "Refused from"),
	refused_len = ProtoField.uint32("suci.ack.refused.len", "Refused packets"),
	ect = ProtoField.uint32("suci.ack.ect", "Marked ECT(0)"),
	ce = ProtoField.uint32("suci.ack.ce", "Marked CE"),
	ask = ProtoField.uint16("suci.ack.ask", "Refused ones that wait"),
	waiting = ProtoField.uint8("suci.ack.waiting", "Packets that wait for credit"),
	prio = ProtoField.uint8("suci.ack.prio", "Highest priority"),
	used = ProtoField.uint32("suci.ack.used", "Of all granted, used"),
	grant = ProtoField.uint32("suci.ack.grant", "Refused packets granted"),
	-- part
	part_id = ProtoField.uint32("suci.part.id", "Cut"),
	part_low = ProtoField.uint32("suci.part.low", "Lowest cut that may still come"),
	part_off = ProtoField.uint16("suci.part.off", "Offset in the segment"),
	part_total = ProtoField.uint16("suci.part.total", "Bytes of the segment"),
	-- lane
	dst = ProtoField.uint32("suci.lane.dst", "Destination label"),
	src = ProtoField.uint32("suci.lane.src", "Source label"),
	seq = ProtoField.uint32("suci.lane.seq", "Segment"),
	block = ProtoField.uint32("suci.lane.block", "First segment of the block"),
	ack = ProtoField.uint32("suci.lane.ack", "Placed before"),
	window = ProtoField.uint16("suci.lane.window", "Window"),
	sflags = ProtoField.uint16("suci.lane.flags", "Flags of the segment", base.HEX),
	s_first = ProtoField.bool("suci.lane.flags.first", "FIRST", 16, nil, 0x0001),
	s_last = ProtoField.bool("suci.lane.flags.last", "LAST", 16, nil, 0x0002),
	s_ack = ProtoField.bool("suci.lane.flags.ack", "ACK", 16, nil, 0x0004),
	s_ask = ProtoField.bool("suci.lane.flags.ask", "ASK", 16, nil, 0x0008),
	s_crc = ProtoField.bool("suci.lane.flags.crc", "CRC", 16, nil, 0x0010),
	s_prio = ProtoField.uint16("suci.lane.flags.prio", "Priority", base.DEC, nil, 0x0060),
	s_note = ProtoField.bool("suci.lane.flags.note", "NOTE", 16, nil, 0x0080),
	s_refused = ProtoField.bool("suci.lane.flags.refused", "REFUSED", 16, nil, 0x0100),
	mss = ProtoField.uint16("suci.lane.mss", "Payload of a segment"),
	shift = ProtoField.uint8("suci.lane.credit_shift", "Window unit, power of two"),
	crc = ProtoField.uint32("suci.lane.crc32c", "CRC32C", base.HEX),
	block_bytes = ProtoField.uint64("suci.lane.block_bytes", "Bytes of the block"),
	payload = ProtoField.bytes("suci.payload", "Payload"),
	encrypted = ProtoField.bytes("suci.encrypted", "Encrypted"),
	seal = ProtoField.bytes("suci.seal_tag", "Seal tag"),
	padding = ProtoField.bytes("suci.padding", "Padding of a probe"),
	-- handshake
	own_tag = ProtoField.uint32("suci.hs.tag", "Sender's tag", base.HEX),
	mtu = ProtoField.uint16("suci.hs.mtu", "Largest datagram taken"),
	hello_len = ProtoField.uint16("suci.hs.hello_len", "Length of the hello data"),
	incarnation = ProtoField.uint64("suci.hs.incarnation", "Incarnation", base.HEX),
	cookie = ProtoField.bytes("suci.hs.cookie", "Cookie"),
	peer_inc = ProtoField.uint64("suci.hs.peer_incarnation", "Incarnation of the peer", base.HEX),
	nonce = ProtoField.bytes("suci.hs.nonce", "Nonce"),
	key_id = ProtoField.uint32("suci.hs.key_id", "Pre-shared key"),
	attempt = ProtoField.uint32("suci.hs.attempt", "Attempt"),
	public = ProtoField.bytes("suci.hs.public", "Public key of the path"),
	code = ProtoField.bytes("suci.hs.code", "Code under the pre-shared key"),
	hello_kind = ProtoField.uint8("suci.hello.kind", "Who", base.DEC, KINDS),
	hello_token = ProtoField.uint32("suci.hello.token", "Token, lower half", base.HEX),
	hello_label = ProtoField.uint32("suci.hello.label", "Label"),
	hello_rank = ProtoField.int32("suci.hello.rank", "World rank"),
	hello_mtu = ProtoField.uint16("suci.hello.mtu", "Largest datagram towards others"),
	hello_survives = ProtoField.bool("suci.hello.survives", "The job survives deaths", 8, nil, 0x01),
	hello_upper = ProtoField.uint32("suci.hello.token_upper", "Token, upper half", base.HEX),
	hello_proof = ProtoField.uint64("suci.hello.proof", "Proof of a door's address", base.HEX),
	hello_other = ProtoField.bytes("suci.hello.other", "Hello data"),
	reason = ProtoField.uint16("suci.close.reason", "Reason"),
	text = ProtoField.string("suci.close.text", "Text"),
	-- notes
	note = ProtoField.uint8("suci.note.type", "Note", base.DEC, NOTES),
	note_base = ProtoField.uint32("suci.note.label_base", "Label base of the job"),
	note_text = ProtoField.string("suci.note.text", "Text"),
	note_ways = ProtoField.uint32("suci.note.ways", "Clients that can be reached", base.HEX),
	note_resend = ProtoField.uint32("suci.note.resend", "Send again towards", base.HEX),
	note_relay = ProtoField.ipv4("suci.note.relay", "Relay"),
	note_port = ProtoField.uint16("suci.note.port", "Port"),
	note_lost = ProtoField.bool("suci.note.lost", "Lost"),
	note_first = ProtoField.uint32("suci.note.first", "First rank"),
	note_count = ProtoField.uint32("suci.note.count", "Ranks"),
	note_weight = ProtoField.uint8("suci.note.weight", "Weight"),
	note_client = ProtoField.uint8("suci.note.client", "Client"),
	-- doors
	door_op = ProtoField.uint8("suci.door.op", "Door", base.DEC, DOOR_OPS),
	door_request = ProtoField.uint32("suci.door.request", "Request", base.HEX),
	door_label = ProtoField.uint32("suci.door.label", "Label"),
	door_n = ProtoField.uint16("suci.door.n", "Labels"),
	door_realm = ProtoField.uint64("suci.door.realm", "Realm", base.HEX),
	door_token = ProtoField.uint64("suci.door.token", "Token", base.HEX),
	door_most = ProtoField.uint16("suci.door.most", "Relays that may have it"),
	door_turn = ProtoField.uint16("suci.door.turn", "Times it began anew"),
	door_ok = ProtoField.bool("suci.door.ok", "Granted"),
	door_called = ProtoField.uint32("suci.door.called", "What offers is called here"),
	door_offered = ProtoField.uint32("suci.door.offered", "What was offered"),
	door_relay = ProtoField.ipv4("suci.door.relay", "Relay"),
	door_port = ProtoField.uint16("suci.door.port", "Port"),
}
suci.fields = f
local bad = ProtoExpert.new("suci.bad", "Not a Suci datagram of this version: it is dropped",
	expert.group.MALFORMED, expert.severity.ERROR)
local reset_seen = ProtoExpert.new("suci.reset", "The peer has no path with that tag",
	expert.group.SEQUENCE, expert.severity.WARN)
local close_seen = ProtoExpert.new("suci.close", "The path ends, or an open is refused",
	expert.group.SEQUENCE, expert.severity.NOTE)
local refused_seen = ProtoExpert.new("suci.refused", "The peer had no room for some packets",
	expert.group.SEQUENCE, expert.severity.NOTE)
suci.experts = { bad, reset_seen, close_seen, refused_seen }

local PATH_HDR, LANE_HDR, FIRST_EXT, PART_HDR, BODY, SEAL_TAG = 16, 32, 8, 12, 32, 16
local SEALED, PART, BARE, PROBE = 0x80, 0x10, 0x04, 0x02
local RANKS_MAX = 2 ^ 22
local impipk

local function has(value, bit) return math.floor(value / bit) % 2 == 1 end

-- Adds the ack block; false if it cannot be one.
local function ack_block_add(tvb, tree)
	if tvb:len() < 16 then return false end
	local sub = tree:add(suci, tvb(), "Ack block")
	local n, flags = tvb(12, 1):uint(), tvb(13, 1):uint()
	sub:append_text(string.format(": up to %d", tvb(0, 4):uint()))
	sub:add(f.largest, tvb(0, 4))
	sub:add(f.echo, tvb(4, 4))
	sub:add(f.delay, tvb(8, 2))
	sub:add(f.credit, tvb(10, 2))
	sub:add(f.ranges, tvb(12, 1))
	local flag_tree = sub:add(f.aflags, tvb(13, 1))
	flag_tree:add(f.a_refused, tvb(13, 1))
	flag_tree:add(f.a_room, tvb(13, 1))
	flag_tree:add(f.a_ecn, tvb(13, 1))
	sub:add(f.first_len, tvb(14, 2))
	local stop = tvb:len() - (has(flags, 2) and 12 or 0) - (has(flags, 4) and 8 or 0)
	local off = 16
	if off + 4 * n > stop then return false end
	for _ = 1, n do
		sub:add(f.gap, tvb(off, 2))
		sub:add(f.len, tvb(off + 2, 2))
		off = off + 4
	end
	if (stop - off) % 8 ~= 0 then return false end
	while off < stop do
		sub:add(f.refused_pn, tvb(off, 4)):add_proto_expert_info(refused_seen)
		sub:add(f.refused_len, tvb(off + 4, 4))
		off = off + 8
	end
	if has(flags, 4) then
		sub:add(f.ect, tvb(off, 4))
		sub:add(f.ce, tvb(off + 4, 4))
		off = off + 8
	end
	if has(flags, 2) then
		sub:add(f.ask, tvb(off, 2))
		sub:add(f.waiting, tvb(off + 2, 1))
		sub:add(f.prio, tvb(off + 3, 1))
		sub:add(f.used, tvb(off + 4, 4))
		sub:add(f.grant, tvb(off + 8, 4))
	end
	return true
end

-- u8 length | an address of lib/door; returns where it ends.
local function address_add(tvb, off, tree)
	if tvb:len() < off + 1 then return off end
	local len = tvb(off, 1):uint()
	local stop = off + 1 + len
	if len < 38 or tvb:len() < stop then return stop end
	local sub = tree:add(suci, tvb(off, 1 + len), "Address")
	sub:add(f.door_n, tvb(off + 3, 2))
	sub:add(f.door_realm, tvb(off + 9, 8))
	sub:add(f.door_label, tvb(off + 17, 4))
	sub:add(f.door_token, tvb(off + 21, 8))
	for at = off + 29, stop - 10, 6 do
		sub:add(f.door_relay, tvb(at, 4))
		sub:add(f.door_port, tvb(at + 4, 2))
	end
	return stop
end

local function door_add(tvb, sub)
	local op = tvb(1, 1):uint()
	sub:add(f.door_op, tvb(1, 1))
	sub:add(f.door_request, tvb(2, 4))
	sub:add(f.door_label, tvb(6, 4))
	local body = tvb:len() - 10
	if op == 1 and body >= 20 then
		sub:add(f.door_n, tvb(10, 2))
		sub:add(f.door_realm, tvb(12, 8))
		sub:add(f.door_token, tvb(20, 8))
		sub:add(f.door_most, tvb(28, 2))
	elseif op == 2 or op == 4 then
		address_add(tvb, 10, sub)
	elseif op == 5 and body >= 4 then
		sub:add(f.door_n, tvb(10, 2))
		sub:add(f.door_turn, tvb(12, 2))
	elseif op == 10 then
		address_add(tvb, address_add(tvb, 10, sub), sub)
	elseif op == 11 and body >= 9 then
		sub:add(f.door_ok, tvb(10, 1))
		sub:add(f.door_called, tvb(11, 4))
		sub:add(f.door_offered, tvb(15, 4))
	end
	return "DOOR " .. (DOOR_OPS[op] or op)
end

-- Notes: what their types have in common, then each.
local function note_add(tvb, tree)
	local type = tvb(0, 1):uint()
	local sub = tree:add(suci, tvb(), "Note " .. (NOTES[type] or type))
	sub:add(f.note, tvb(0, 1))
	if type == 8 and tvb:len() >= 10 then return door_add(tvb, sub) end
	if type == 3 or tvb:len() < 5 then return NOTES[type] or "?" end
	sub:add(f.note_base, tvb(1, 4))
	if type == 1 and tvb:len() >= 7 then
		local len = tvb(5, 2):uint()
		if tvb:len() >= 7 + len and len > 0 then sub:add(f.note_text, tvb(7, len)) end
	elseif type == 4 and tvb:len() >= 13 then
		sub:add(f.note_client, tvb(9, 1))
		local off = 15
		for _ = 1, tvb(12, 1):uint() do
			if tvb:len() < off + 8 then break end
			sub:add(f.note_relay, tvb(off, 4))
			sub:add(f.note_port, tvb(off + 4, 2))
			sub:add(f.note_weight, tvb(off + 6, 1))
			off = off + 8
		end
	elseif type == 5 and tvb:len() >= 17 then
		sub:add(f.note_ways, tvb(9, 4))
		sub:add(f.note_resend, tvb(13, 4))
	elseif type == 6 and tvb:len() >= 12 then
		sub:add(f.note_relay, tvb(5, 4))
		sub:add(f.note_port, tvb(9, 2))
		sub:add(f.note_lost, tvb(11, 1))
	elseif type == 9 and tvb:len() >= 17 then
		sub:add(f.note_first, tvb(9, 4))
		sub:add(f.note_count, tvb(13, 4))
	end
	return NOTES[type] or string.format("note %d", type)
end

-- Is what a block begins with an IMPI packet?  libsuci's blocks may begin with anything.
local function begins_with_packet(tvb)
	if tvb:len() < 128 or tvb(0, 4):uint() > 7 then return false end
	local lsrank = tvb(80, 4):int()
	return lsrank >= -1 and lsrank < RANKS_MAX and tvb(84, 4):int() >= -1
end

-- Adds the segment; returns what to say of it, or nil.
local function segment_add(tvb, pinfo, tree)
	if tvb:len() < LANE_HDR then return nil end
	local flags = tvb(22, 2):uint()
	local first, note = has(flags, 1), has(flags, 0x80)
	local head = LANE_HDR + (first and FIRST_EXT or 0)
	if tvb:len() < head then return nil end
	local sub = tree:add(suci, tvb(0, head), string.format("Segment %d of lane %d to %d",
		tvb(8, 4):uint(), tvb(4, 4):uint(), tvb(0, 4):uint()))
	for i, name in ipairs({ "dst", "src", "seq", "block", "ack" }) do
		sub:add(f[name], tvb(4 * (i - 1), 4))
	end
	sub:add(f.window, tvb(20, 2))
	local flag_tree = sub:add(f.sflags, tvb(22, 2))
	for _, name in ipairs({ "first", "last", "ack", "ask", "crc", "prio", "note", "refused" }) do
		flag_tree:add(f["s_" .. name], tvb(22, 2))
	end
	sub:add(f.mss, tvb(24, 2))
	sub:add(f.shift, tvb(26, 1))
	sub:add(f.crc, tvb(28, 4))
	if first then sub:add(f.block_bytes, tvb(32, 8)) end
	local says = string.format("%d -> %d seq %d%s%s", tvb(4, 4):uint(), tvb(0, 4):uint(),
		tvb(8, 4):uint(), first and " FIRST" or "", has(flags, 2) and " LAST" or "")
	if tvb:len() > head then
		local rest = tvb(head):tvb()
		if note then
			says = says .. " " .. note_add(rest, tree)
		else
			local packet = first and begins_with_packet(rest)
			if packet then impipk = impipk or Dissector.get("impipk") end
			if packet and impipk then
				impipk:call(rest, pinfo, tree)
				if rest:len() > 128 then tree:add(f.payload, rest(128)) end
			else -- also where impi.lua is not loaded
				tree:add(f.payload, rest())
			end
		end
	end
	return says
end

local function data_add(tvb, pinfo, tree, flags)
	local ack_len = tvb(2, 2):uint()
	if has(flags, SEALED) then
		if tvb:len() < PATH_HDR + SEAL_TAG then return nil end
		local bytes = tvb:len() - PATH_HDR - SEAL_TAG
		if bytes > 0 then tree:add(f.encrypted, tvb(PATH_HDR, bytes)) end
		tree:add(f.seal, tvb(tvb:len() - SEAL_TAG))
		return string.format("sealed, %d bytes", bytes)
	end
	if tvb:len() < PATH_HDR + ack_len then return nil end
	if ack_len > 0 and not ack_block_add(tvb(PATH_HDR, ack_len):tvb(), tree) then return nil end
	local off = PATH_HDR + ack_len
	local rest = tvb:len() - off
	if has(flags, BARE) then return rest == 0 and "only acks" or nil end
	if has(flags, PROBE) then
		if rest > 0 then tree:add(f.padding, tvb(off)) end
		return "probe"
	end
	if has(flags, PART) then
		if rest <= PART_HDR then return nil end
		tree:add(f.part_id, tvb(off, 4))
		tree:add(f.part_low, tvb(off + 4, 4))
		tree:add(f.part_off, tvb(off + 8, 2))
		tree:add(f.part_total, tvb(off + 10, 2))
		tree:add(f.payload, tvb(off + PART_HDR))
		return string.format("part of cut %d", tvb(off, 4):uint())
	end
	return segment_add(tvb(off):tvb(), pinfo, tree)
end

local function hello_data_add(tvb, tree)
	if tvb:len() >= 24 and tvb(0, 6):raw() == "SUCI\0\2" then
		local sub = tree:add(suci, tvb(0, 24), "Hello to a door")
		sub:add(f.hello_label, tvb(8, 4))
		sub:add(f.hello_proof, tvb(16, 8))
		return
	end
	if tvb:len() < 24 or tvb(0, 2):string() ~= "SH" then
		tree:add(f.hello_other, tvb())
		return
	end
	local sub = tree:add(suci, tvb(0, 24), "Hello")
	sub:add(f.hello_kind, tvb(3, 1))
	sub:add(f.hello_token, tvb(4, 4))
	sub:add(f.hello_label, tvb(8, 4))
	sub:add(f.hello_rank, tvb(12, 4))
	sub:add(f.hello_mtu, tvb(16, 2))
	sub:add(f.hello_survives, tvb(18, 1))
	sub:add(f.hello_upper, tvb(20, 4))
end

local function handshake_add(tvb, tree, type, sealed)
	if tvb:len() < PATH_HDR + BODY then return nil end
	local body = tvb(PATH_HDR):tvb()
	local hello_len = body(6, 2):uint()
	if type == 2 then -- COOKIE: the rest is 0
		tree:add(f.incarnation, body(8, 8))
		tree:add(f.cookie, body(16, 8))
		return ""
	end
	tree:add(f.own_tag, body(0, 4))
	tree:add(f.mtu, body(4, 2))
	tree:add(f.hello_len, body(6, 2))
	tree:add(f.incarnation, body(8, 8))
	tree:add(f.cookie, body(16, 8))
	tree:add(f.peer_inc, body(24, 8))
	local off = BODY
	if sealed and (type == 3 or type == 4) then
		if body:len() < off + 72 then return nil end
		tree:add(f.nonce, body(off, 16))
		tree:add(f.key_id, body(off + 16, 4))
		tree:add(f.attempt, body(off + 20, 4))
		tree:add(f.public, body(off + 24, 32))
		tree:add(f.code, body(off + 56, 16))
		if body:len() > off + 72 then tree:add(f.encrypted, body(off + 72)) end
	elseif hello_len > 0 then
		if body:len() < off + hello_len then return nil end
		hello_data_add(body(off, hello_len):tvb(), tree)
	end
	return string.format("mtu %d", body(4, 2):uint())
end

local function close_add(tvb, tree, type, sealed)
	if tvb:len() < PATH_HDR + 4 then return nil end
	local len = tvb(PATH_HDR + 2, 2):uint()
	local item = tree:add(f.reason, tvb(PATH_HDR, 2))
	item:add_proto_expert_info(type == 5 and reset_seen or close_seen)
	local says = string.format("reason %d", tvb(PATH_HDR, 2):uint())
	if tvb(PATH_HDR, 2):uint() == REASON_SILENT then says = says .. " (silent)" end
	if sealed then
		tree:add(f.encrypted, tvb(PATH_HDR + 4))
	elseif len > 0 then
		if tvb:len() < PATH_HDR + 4 + len then return nil end
		tree:add(f.text, tvb(PATH_HDR + 4, len))
		says = says .. ": " .. tvb(PATH_HDR + 4, len):string()
	end
	return says
end

-- Can this be a Suci datagram?  What has another version or shape is nobody's.
local function looks_right(tvb)
	if tvb:len() < PATH_HDR then return false end
	local first, flags = tvb(0, 1):uint(), tvb(1, 1):uint()
	local type, ack_len = first % 16, tvb(2, 2):uint()
	if math.floor(first / 16) ~= 1 or type > 8 then return false end
	if type ~= 0 then
		if ack_len ~= 0 then return false end
		if type >= 1 and type <= 4 then return tvb:len() >= PATH_HDR + BODY end
		return true
	end
	if has(flags, SEALED) then return tvb:len() >= PATH_HDR + SEAL_TAG end
	return ack_len <= tvb:len() - PATH_HDR and (ack_len == 0 or ack_len >= 16) and
		(has(flags, BARE) or has(flags, PROBE) or tvb:len() - PATH_HDR - ack_len > PART_HDR)
end

-- Bytes of the first datagram in tvb.  A capture on the sending host may show a run of UDP
-- segmentation offload as one frame: datagrams of one length, the last one at most that.  What is
-- sealed says nothing about its length and is shown as one.
local function datagram_len(tvb)
	local all, flags, ack_len = tvb:len(), tvb(1, 1):uint(), tvb(2, 2):uint()
	if tvb(0, 1):uint() ~= 0x10 or has(flags, SEALED) then return all end
	local len
	if has(flags, BARE) then
		len = PATH_HDR + ack_len
	elseif not has(flags, PROBE) and not has(flags, PART) and
		all >= PATH_HDR + ack_len + LANE_HDR then
		local lane = PATH_HDR + ack_len
		local sflags = tvb(lane + 22, 2):uint()
		local last = has(sflags, 2)
		if not last then
			len = lane + LANE_HDR + tvb(lane + 24, 2):uint()
		elseif has(sflags, 1) and all >= lane + LANE_HDR + FIRST_EXT then
			len = lane + LANE_HDR + FIRST_EXT + tvb(lane + 36, 4):uint()
		end
	end
	if not len or len + PATH_HDR > all or tvb(len, 1):uint() >= 0x20 or
		tvb(4, 4):uint() ~= tvb(len + 4, 4):uint() then
		return all
	end
	return len
end

local function datagram_add(tvb, pinfo, tree)
	local sub = tree:add(suci, tvb())
	if not looks_right(tvb) then
		sub:add_proto_expert_info(bad)
		return "not a Suci datagram of version 1"
	end
	local type, flags = tvb(0, 1):uint() % 16, tvb(1, 1):uint()
	local sealed = has(flags, SEALED)
	sub:add(f.version, tvb(0, 1))
	sub:add(f.type, tvb(0, 1))
	local flag_tree = sub:add(f.flags, tvb(1, 1))
	for _, name in ipairs({ "ack_now", "probe", "bare", "more", "part", "epoch", "sealed" }) do
		flag_tree:add(f[name], tvb(1, 1))
	end
	sub:add(f.ack_len, tvb(2, 2))
	sub:add(f.tag, tvb(4, 4))
	if type >= 7 then
		sub:add(f.token, tvb(8, 8))
	elseif type == 3 or type == 4 then
		sub:add(f.first_credit, tvb(8, 2))
		sub:add(f.first_rtt, tvb(10, 2))
		sub:add(f.time, tvb(12, 4))
	else
		sub:add(f.pn, tvb(8, 4))
		sub:add(f.time, tvb(12, 4))
	end
	local name = TYPES[type] .. (type == 0 and string.format(" %d", tvb(8, 4):uint()) or "")
	local says
	if type == 0 then
		says = data_add(tvb, pinfo, sub, flags)
	elseif type <= 4 then
		says = handshake_add(tvb, sub, type, sealed)
	elseif type <= 6 then
		says = close_add(tvb, sub, type, sealed)
	else
		says = sealed and "sealed" or ""
	end
	if not says then
		sub:add_proto_expert_info(bad)
		says = "malformed"
	end
	if says ~= "" then name = name .. " " .. says end
	sub:append_text(": " .. name)
	return name
end

function suci.dissector(tvb, pinfo, tree)
	pinfo.cols.protocol = "Suci"
	local off, all = 0, {}
	pinfo.cols.info = ""
	while off < tvb:len() do
		local rest = tvb(off):tvb()
		local len = looks_right(rest) and datagram_len(rest) or rest:len()
		all[#all + 1] = datagram_add(rest(0, len):tvb(), pinfo, tree)
		off = off + len
	end
	pinfo.cols.info:prepend(table.concat(all, " | "))
	return tvb:len()
end

local ports = DissectorTable.get("udp.port")
local bound = suci.prefs.ports
ports:add(bound, suci)
function suci.prefs_changed()
	if bound ~= suci.prefs.ports then
		ports:remove(bound, suci)
		bound = suci.prefs.ports
		ports:add(bound, suci)
	end
end
suci:register_heuristic("udp", function(tvb, pinfo, tree)
	if not suci.prefs.anywhere or not looks_right(tvb) then return false end
	suci.dissector(tvb, pinfo, tree)
	return true
end)
