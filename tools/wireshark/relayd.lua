-- SPDX-License-Identifier: BSD-2-Clause
-- What relays of one cluster say to each other over TCP, for Wireshark, and sealed streams.
--
-- Protocols  relaypeer      frames between relays, TCP port 7813 (preference "ports")
--            sealedstream   what begins with "SLK1": greetings and records; what is in them is
--                           encrypted
-- Source     doc/wire.md, "Frames between the relays of a cluster" and "Sealed streams".

-- --- sealed streams ------------------------------------------------------------------------

local sealed = Proto("sealedstream", "Sealed stream")
local sf = {
	magic = ProtoField.string("sealedstream.magic", "Greeting"),
	len = ProtoField.uint16("sealedstream.len", "Length"),
	key_id = ProtoField.uint32("sealedstream.key_id", "Pre-shared key"),
	rest = ProtoField.bytes("sealedstream.rest", "Public key, code, tag"),
	record = ProtoField.bytes("sealedstream.record", "Encrypted record"),
}
sealed.fields = sf

local function sealed_len(tvb, _, off)
	if tvb:len() < off + 6 then return 6 end -- no greeting or record is shorter
	if tvb(off, 4):string() == "SLK1" then return 6 + tvb(off + 4, 2):uint() end
	return 2 + tvb(off, 2):uint()
end

local function sealed_pdu(tvb, pinfo, tree)
	pinfo.cols.protocol = "SLK1"
	local sub = tree:add(sealed, tvb())
	local says
	if tvb(0, 4):string() == "SLK1" then
		sub:add(sf.magic, tvb(0, 4))
		sub:add(sf.len, tvb(4, 2))
		-- The dialler's greeting has a key id in front of what both have.
		local dialler = tvb:len() - 6 ~= 32 + 16 + 16
		if dialler then sub:add(sf.key_id, tvb(6, 4)) end
		sub:add(sf.rest, tvb(dialler and 10 or 6))
		says = dialler and "greeting 1" or "greeting 2"
	else
		sub:add(sf.len, tvb(0, 2))
		sub:add(sf.record, tvb(2))
		says = string.format("record of %d bytes", tvb:len() - 2 - 16)
	end
	sub:append_text(": " .. says)
	pinfo.cols.info:append(" " .. says)
	return tvb:len()
end

function sealed.dissector(tvb, pinfo, tree)
	pinfo.conversation = sealed
	pinfo.cols.info = ""
	return dissect_tcp_pdus(tvb, tree, 6, sealed_len, sealed_pdu)
end

sealed:register_heuristic("tcp", function(tvb, pinfo, tree)
	if tvb:len() < 6 or tvb(0, 4):string() ~= "SLK1" then return false end
	sealed.dissector(tvb, pinfo, tree)
	return true
end)

-- --- frames between relays -----------------------------------------------------------------

local peer = Proto("relaypeer", "Relays of a cluster")
peer.prefs.ports = Pref.range("TCP ports", "7813", "cluster.peer_port", 65535)
local TYPES = { "JOB", "OK", "REFUSE", "END", "PING", "PONG", "GIVE", "WAYS" }
local FRAME_MAX = 64 * 1024 * 1024
local pf = {
	len = ProtoField.uint32("relaypeer.len", "Length of the rest"),
	type = ProtoField.uint8("relaypeer.type", "Type", base.DEC, TYPES),
	job = ProtoField.uint32("relaypeer.job", "Label base of the job"),
	ways = ProtoField.uint32("relaypeer.ways", "Clients that can be reached", base.HEX),
	text = ProtoField.string("relaypeer.text", "Why"),
	id = ProtoField.uint32("relaypeer.table.id", "Job id"),
	client = ProtoField.uint32("relaypeer.table.client", "Client"),
	nworld = ProtoField.uint32("relaypeer.table.nworld", "Processes of the job"),
	nhosts = ProtoField.uint32("relaypeer.table.nhosts", "Hosts"),
	rest = ProtoField.bytes("relaypeer.table.rest", "Rest of the table"),
}
peer.fields = pf
local bad = ProtoExpert.new("relaypeer.bad", "Malformed: the channel is closed",
	expert.group.MALFORMED, expert.severity.ERROR)
peer.experts = { bad }

local function frame_len(tvb, _, off) return 4 + math.min(tvb(off, 4):uint(), FRAME_MAX) end

local function frame_pdu(tvb, pinfo, tree)
	pinfo.cols.protocol = "relayd"
	local sub = tree:add(peer, tvb())
	sub:add(pf.len, tvb(0, 4))
	if tvb:len() < 5 then
		sub:add_proto_expert_info(bad)
		return tvb:len()
	end
	local type = tvb(4, 1):uint()
	local says = TYPES[type]
	sub:add(pf.type, tvb(4, 1))
	if not says or (type <= 4 and tvb:len() < 9) then
		sub:add_proto_expert_info(bad)
		says = says or string.format("type %d", type)
	elseif type == 1 then
		-- job id, token, label base, my_client, nworld, nhosts, ...
		if tvb:len() >= 29 then
			sub:add(pf.id, tvb(5, 4))
			sub:add(pf.job, tvb(13, 4))
			sub:add(pf.client, tvb(17, 4))
			sub:add(pf.nworld, tvb(21, 4))
			sub:add(pf.nhosts, tvb(25, 4))
			if tvb:len() > 29 then sub:add(pf.rest, tvb(29)) end
			says = string.format("JOB %d of %d processes", tvb(5, 4):uint(), tvb(21, 4):uint())
		end
	elseif type <= 4 or type == 8 then
		sub:add(pf.job, tvb(5, 4))
		if type == 8 and tvb:len() >= 13 then sub:add(pf.ways, tvb(9, 4)) end
		if (type == 3 or type == 4) and tvb:len() >= 11 then
			local len = tvb(9, 2):uint()
			if tvb:len() < 11 + len then
				sub:add_proto_expert_info(bad)
			elseif len > 0 then
				sub:add(pf.text, tvb(11, len))
				says = says .. ": " .. tvb(11, len):string()
			end
		end
	end
	sub:append_text(": " .. says)
	pinfo.cols.info:append(" " .. says)
	return tvb:len()
end

function peer.dissector(tvb, pinfo, tree)
	if tvb:len() >= 4 and tvb(0, 4):string() == "SLK1" then
		return sealed.dissector(tvb, pinfo, tree)
	end
	pinfo.cols.info = ""
	return dissect_tcp_pdus(tvb, tree, 4, frame_len, frame_pdu)
end

local ports = DissectorTable.get("tcp.port")
local bound = peer.prefs.ports
ports:add(bound, peer)
function peer.prefs_changed()
	if bound ~= peer.prefs.ports then
		ports:remove(bound, peer)
		bound = peer.prefs.ports
		ports:add(bound, peer)
	end
end
