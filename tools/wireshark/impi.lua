-- SPDX-License-Identifier: BSD-2-Clause
-- IMPI 0.0 for Wireshark: the start-up channel between a client and its server or relay, and the
-- host-to-host streams of implementations that speak IMPI over TCP.
--
-- Protocols  impi       start-up, TCP ports 7810 and 7811 (preference "ports")
--            impidata   host-to-host streams; found by their look, or by "Decode As"
--            impipk     one 128-byte packet header; other dissectors call it by that name
-- Source     doc/wire.md, lib/impi/include/impi/wire.h.  All integers are big-endian.

local LABELS = {
	[0x1000] = "C_VERSION", [0x1100] = "C_NHOSTS", [0x1200] = "C_NPROCS",
	[0x1300] = "C_DATALEN", [0x1400] = "C_TAGUB", [0x1500] = "C_COLL_XSIZE",
	[0x1600] = "C_COLL_MAXLINEAR", [0x2000] = "H_IPV6", [0x2100] = "H_PORT",
	[0x2200] = "H_NPROCS", [0x2300] = "H_ACKMARK", [0x2400] = "H_HIWATER",
	[0x3000] = "P_IPV6", [0x3100] = "P_PID",
}
local ELEMENT_BYTES = { -- those not of 4 bytes
	[0x1000] = 8, [0x2000] = 16, [0x3000] = 16, [0x3100] = 8,
}
local TYPES = {
	[0] = "DATA", "DATASYNC", "PROTOACK", "SYNCACK", "CANCEL", "CANCELYES", "CANCELNO", "FINI",
}
local CMD_BYTES_MAX = 64 * 1024 * 1024 -- of one command, as lib/impi

-- --- one packet ----------------------------------------------------------------------------

local pk = Proto("impipk", "IMPI packet")
local pf = {
	type = ProtoField.uint32("impipk.type", "Type", base.DEC, TYPES),
	len = ProtoField.uint32("impipk.len", "Payload length"),
	src_host = ProtoField.bytes("impipk.src.host", "Source host id"),
	src_pid = ProtoField.uint64("impipk.src.pid", "Source process", base.HEX),
	dst_host = ProtoField.bytes("impipk.dst.host", "Destination host id"),
	dst_pid = ProtoField.uint64("impipk.dst.pid", "Destination process", base.HEX),
	srqid = ProtoField.uint64("impipk.srqid", "Send request", base.HEX),
	drqid = ProtoField.uint64("impipk.drqid", "Receive request", base.HEX),
	msglen = ProtoField.uint64("impipk.msglen", "Message length"),
	lsrank = ProtoField.int32("impipk.lsrank", "Source rank"),
	tag = ProtoField.int32("impipk.tag", "Tag"),
	cid = ProtoField.uint64("impipk.cid", "Context id"),
	seq = ProtoField.uint64("impipk.seq", "Sequence number (hint)"),
	count = ProtoField.int64("impipk.count", "Count (hint)"),
	dtype = ProtoField.uint64("impipk.dtype", "Data type (hint)", base.HEX),
	payload = ProtoField.bytes("impipk.payload", "Payload"),
}
pk.fields = pf
local PK_BYTES = 128

-- Does a packet header begin at off?  Says no only where none can.
local function packet_is_sane(tvb, off)
	if tvb:len() < off + PK_BYTES then return false end
	local type, len = tvb(off, 4):uint(), tvb(off + 4, 4):uint()
	if type > 7 then return false end
	-- A host id ends in an address, but in FINI.
	if type ~= 7 and tvb(off + 20, 4):uint() == 0 then return false end
	if type <= 1 then
		if len > CMD_BYTES_MAX or UInt64(len) > tvb(off + 72, 8):uint64() then return false end
	end
	return tvb(off + 80, 4):int() >= -1
end

-- Adds the packet at off to the tree; returns what to say of it in a line.
local function packet_add(tvb, off, tree)
	local type, len = tvb(off, 4):uint(), tvb(off + 4, 4):uint()
	tree:add(pf.type, tvb(off, 4))
	tree:add(pf.len, tvb(off + 4, 4))
	tree:add(pf.src_host, tvb(off + 8, 16))
	tree:add(pf.src_pid, tvb(off + 24, 8))
	tree:add(pf.dst_host, tvb(off + 32, 16))
	tree:add(pf.dst_pid, tvb(off + 48, 8))
	tree:add(pf.srqid, tvb(off + 56, 8))
	tree:add(pf.drqid, tvb(off + 64, 8))
	tree:add(pf.msglen, tvb(off + 72, 8))
	tree:add(pf.lsrank, tvb(off + 80, 4))
	tree:add(pf.tag, tvb(off + 84, 4))
	tree:add(pf.cid, tvb(off + 88, 8))
	tree:add(pf.seq, tvb(off + 96, 8))
	tree:add(pf.count, tvb(off + 104, 8))
	tree:add(pf.dtype, tvb(off + 112, 8))
	local name = TYPES[type] or string.format("type %d", type)
	if type > 1 then return name end
	return string.format("%s len=%d lsrank=%d tag=%d", name, len, tvb(off + 80, 4):int(),
		tvb(off + 84, 4):int())
end

function pk.dissector(tvb, pinfo, tree)
	if tvb:len() < PK_BYTES then return 0 end
	local sub = tree:add(pk, tvb(0, PK_BYTES))
	local says = packet_add(tvb, 0, sub)
	sub:append_text(": " .. says)
	pinfo.cols.info:append(" " .. says)
	return PK_BYTES
end

-- --- host-to-host streams ------------------------------------------------------------------

local data = Proto("impidata", "IMPI between hosts")
local ident_field = ProtoField.uint32("impidata.ident", "Host rank of who connects")
data.fields = { ident_field }
local tcp_seq = Field.new("tcp.seq")

-- Who opens a connection says its host rank first, 4 bytes; nothing else is shorter than a header.
local function stream_begins_with_ident(tvb, off)
	local seq = tcp_seq()
	if off ~= 0 or not seq or seq.value ~= 1 then return false end
	return tvb:len() == 4 or (packet_is_sane(tvb, 4) and not packet_is_sane(tvb, 0))
end

local function data_pdu_len(tvb, _, off)
	if stream_begins_with_ident(tvb, off) then return 4 end
	if tvb:len() < off + 8 then return 8 end -- asked again when these are there
	local type, len = tvb(off, 4):uint(), tvb(off + 4, 4):uint()
	return PK_BYTES + (type <= 1 and math.min(len, CMD_BYTES_MAX) or 0)
end

local function data_pdu(tvb, pinfo, tree)
	pinfo.cols.protocol = "IMPI"
	local sub = tree:add(data, tvb())
	if tvb:len() == 4 then
		sub:add(ident_field, tvb(0, 4))
		sub:append_text(": I am host " .. tvb(0, 4):uint())
		pinfo.cols.info:append(" I am host " .. tvb(0, 4):uint())
		return 4
	end
	local says = packet_add(tvb, 0, sub)
	if tvb:len() > PK_BYTES then sub:add(pf.payload, tvb(PK_BYTES)) end
	sub:append_text(": " .. says)
	pinfo.cols.info:append(" " .. says)
	return tvb:len()
end

function data.dissector(tvb, pinfo, tree)
	pinfo.cols.info = ""
	-- Not dissect_tcp_pdus(): called from a heuristic, it does not ask for the next frame.
	local off = 0
	while off < tvb:len() do
		local left = tvb:len() - off
		local len = left < 4 and 4 or data_pdu_len(tvb, pinfo, off)
		if len > left then
			pinfo.desegment_offset = off
			pinfo.desegment_len = len - left
			break
		end
		data_pdu(tvb(off, len):tvb(), pinfo, tree)
		off = off + len
	end
	return tvb:len()
end

data:register_heuristic("tcp", function(tvb, pinfo, tree)
	if not (packet_is_sane(tvb, 0) and tvb(8, 12):bytes() == tvb(32, 12):bytes()) and
		not (tvb:len() >= 4 + PK_BYTES and packet_is_sane(tvb, 4) and
			stream_begins_with_ident(tvb, 0)) then
		return false
	end
	pinfo.conversation = data
	data.dissector(tvb, pinfo, tree)
	return true
end)
DissectorTable.get("tcp.port"):add_for_decode_as(data)

-- --- start-up ------------------------------------------------------------------------------

local start = Proto("impi", "IMPI start-up")
start.prefs.ports = Pref.range("TCP ports", "7810-7811", "Of the server, or of a relay", 65535)
local COMMANDS = {
	[0x41555448] = "AUTH", [0x494D5049] = "IMPI", [0x434F4C4C] = "COLL", [0x444F4E45] = "DONE",
	[0x46494E49] = "FINI", [0x474F4E45] = "GONE",
}
local sf = {
	cmd = ProtoField.uint32("impi.cmd", "Command", base.HEX, COMMANDS),
	len = ProtoField.uint32("impi.len", "Length"),
	methods = ProtoField.uint32("impi.auth.methods", "Methods offered (1 none, 2 key)", base.HEX),
	which = ProtoField.uint32("impi.auth.which", "Method chosen", base.DEC,
		{ [0] = "none", [1] = "key" }),
	key = ProtoField.bytes("impi.auth.key", "Key"),
	rank = ProtoField.int32("impi.rank", "Client rank"),
	clients = ProtoField.uint32("impi.clients", "Clients"),
	label = ProtoField.uint32("impi.label", "Label", base.HEX, LABELS),
	mask = ProtoField.uint32("impi.mask", "Clients that gave it", base.HEX),
	value = ProtoField.bytes("impi.value", "Value"),
	number = ProtoField.int32("impi.number", "Value"),
}
start.fields = sf
local too_long = ProtoExpert.new("impi.too_long", "A command is longer than 64 MiB",
	expert.group.MALFORMED, expert.severity.ERROR)
start.experts = { too_long }

local function command_len(tvb, _, off)
	if not COMMANDS[tvb(off, 4):uint()] then return 8 end -- answer to AUTH, or the key
	return 8 + math.min(tvb(off + 4, 4):uint(), CMD_BYTES_MAX)
end

local function values_add(tvb, off, label, sub)
	local bytes = ELEMENT_BYTES[label] or 4
	while off + bytes <= tvb:len() do
		sub:add(bytes == 4 and sf.number or sf.value, tvb(off, bytes))
		off = off + bytes
	end
end

local function command_pdu(tvb, pinfo, tree)
	pinfo.cols.protocol = "IMPI"
	local from_server = pinfo.src_port == pinfo.match_uint
	local sub = tree:add(start, tvb())
	local name = COMMANDS[tvb(0, 4):uint()]
	local says = name
	if not name then
		if from_server then
			sub:add(sf.which, tvb(0, 4))
			sub:add(sf.len, tvb(4, 4))
			says = "AUTH answer"
		else
			sub:add(sf.key, tvb(0, 8))
			says = "AUTH key"
		end
	else
		sub:add(sf.cmd, tvb(0, 4))
		local len_item = sub:add(sf.len, tvb(4, 4))
		if tvb(4, 4):uint() > CMD_BYTES_MAX then len_item:add_proto_expert_info(too_long) end
		if name == "AUTH" and tvb:len() >= 12 then
			sub:add(sf.methods, tvb(8, 4))
		elseif name == "IMPI" and tvb:len() >= 12 then
			sub:add(from_server and sf.clients or sf.rank, tvb(8, 4))
			says = string.format(from_server and "IMPI %d clients" or "IMPI rank %d",
				tvb(8, 4):int())
		elseif name == "COLL" and tvb:len() >= 12 then
			local label = tvb(8, 4):uint()
			sub:add(sf.label, tvb(8, 4))
			if from_server and tvb:len() >= 16 then sub:add(sf.mask, tvb(12, 4)) end
			values_add(tvb, from_server and 16 or 12, label, sub)
			says = "COLL " .. (LABELS[label] or string.format("0x%x", label))
		end
	end
	sub:append_text(": " .. says)
	pinfo.cols.info:append(" " .. says)
	return tvb:len()
end

function start.dissector(tvb, pinfo, tree)
	if tvb:len() >= 4 and tvb(0, 4):string() == "SLK1" then
		return Dissector.get("sealedstream"):call(tvb, pinfo, tree)
	end
	pinfo.cols.info = ""
	return dissect_tcp_pdus(tvb, tree, 8, command_len, command_pdu)
end

local ports = DissectorTable.get("tcp.port")
local bound
function start.prefs_changed()
	if bound ~= start.prefs.ports then
		if bound then ports:remove(bound, start) end
		bound = start.prefs.ports
		ports:add(bound, start)
	end
end
bound = start.prefs.ports
ports:add(bound, start)
