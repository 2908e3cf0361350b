/* SPDX-License-Identifier: BSD-2-Clause */
// Asks /api/relays each second and shows what came; rates are differences of two answers.
'use strict';
const $ = id => document.getElementById(id);
let before = null;

function si(v) {
	const units = ['', 'k', 'M', 'G', 'T'];
	let k = 0;
	while (Math.abs(v) >= 1000 && k < units.length - 1) { v /= 1000; k++; }
	return (k ? v.toFixed(v < 10 ? 2 : v < 100 ? 1 : 0) : Math.round(v)) + units[k];
}

function span(ms) {
	const s = Math.floor(ms / 1000);
	return s < 120 ? s + ' s' : s < 7200 ? Math.floor(s / 60) + ' min'
		: s < 172800 ? Math.floor(s / 3600) + ' h' : Math.floor(s / 86400) + ' d';
}

// columns: [title, row => text, numeric, row => bad]
function table(id, columns, rows, none) {
	const t = document.createElement('table');
	const tr = t.insertRow();
	for (const [title, , numeric] of columns) {
		const th = document.createElement('th');
		th.textContent = title;
		if (numeric) th.className = 'n';
		tr.append(th);
	}
	for (const r of rows) {
		const line = t.insertRow();
		for (const [, text, numeric, bad] of columns) {
			const td = line.insertCell();
			td.textContent = text(r);
			td.className = (numeric ? 'n' : '') + (bad && bad(r) ? ' bad' : '');
		}
	}
	if (!rows.length) t.insertRow().insertCell().textContent = none;
	t.id = id;
	$(id).replaceWith(t);
}

// Its own first; others only where they differ.
function versions(status) {
	const others = (status.cluster_relays || []).map(r => r.version);
	return [...new Set([status.version, ...others])].join(', ');
}

function rate(now, was, key, seconds) {
	return was && seconds > 0 ? Math.max(0, (now[key] - was[key]) / seconds) : 0;
}

function node(name, attributes, text) {
	const e = document.createElementNS('http://www.w3.org/2000/svg', name);
	for (const k in attributes) e.setAttribute(k, attributes[k]);
	if (text !== undefined) e.textContent = text;
	return e;
}

// Relays of this machine by cluster, and those of elsewhere that trunks lead to.
function map(relays) {
	const clusters = new Map(), at = new Map();
	const put = (cluster, relay) => {
		if (!clusters.has(cluster)) clusters.set(cluster, []);
		clusters.get(cluster).push(relay);
	};
	for (const r of relays)
		put(r.up ? r.status.cluster : '?', {
			label: r.name, address: r.up ? r.status.global : '', up: r.up, jobs: r.up ? r.status.jobs : 0 });
	const own = new Set(relays.filter(r => r.up).map(r => r.status.global));
	const far = new Set();
	for (const r of relays) for (const t of r.trunks || []) {
		const ip = t.peer.replace(/:\d+$/, '');
		if (!own.has(ip)) far.add(ip);
	}
	for (const ip of [...far].sort()) put('elsewhere', { label: ip, address: ip, up: true, far: true });
	const W = 960, names = [...clusters.keys()].sort(), w = W / Math.max(1, names.length);
	const rows = Math.max(1, ...[...clusters.values()].map(c => c.length));
	const svg = node('svg', { viewBox: `0 0 ${W} ${rows * 64 + 40}`, role: 'img' });
	svg.id = 'map';
	names.forEach((name, i) => clusters.get(name).forEach((r, k) =>
		at.set(r.address, [i * w + w / 2, 56 + k * 64])));
	const drawn = new Set();
	for (const r of relays) for (const t of r.trunks || []) {
		const a = at.get(r.status.global), b = at.get(t.peer.replace(/:\d+$/, ''));
		const key = [r.status.global, t.peer.replace(/:\d+$/, '')].sort().join();
		if (!a || !b || drawn.has(key)) continue;
		drawn.add(key);
		const line = node('path', { d: `M${a} L${b}`, class: t.state === 'up' ? 'trunk' : 'trunk down' });
		line.append(node('title', {}, `${t.peer}: ${t.state}, ${(t.rtt_us / 1000).toFixed(1)} ms`));
		svg.append(line);
	}
	names.forEach((name, i) => {
		const list = clusters.get(name);
		svg.append(node('rect', { class: 'cluster', x: i * w + 12, y: 24, rx: 8, width: w - 24, height: list.length * 64 }));
		svg.append(node('text', { x: i * w + 16, y: 16 }, name === 'elsewhere' ? name : `cluster ${name}`));
		for (const r of list) {
			const [x, y] = at.get(r.address);
			svg.append(node('rect', { class: 'relay' + (r.far ? ' far' : '') + (r.up ? '' : ' down'),
				x: x - 72, y: y - 20, rx: 6, width: 144, height: 40 }));
			svg.append(node('text', { x, y: y - 3, 'text-anchor': 'middle' }, r.label));
			svg.append(node('text', { x, y: y + 13, 'text-anchor': 'middle' },
				r.far ? '' : r.up ? `${r.jobs} job${r.jobs === 1 ? '' : 's'}` : 'does not answer'));
		}
	});
	$('map').replaceWith(svg);
}

function show(relays) {
	const seconds = before ? (performance.now() - before.at) / 1000 : 0;
	const was = new Map(before ? before.relays.filter(r => r.up).map(r => [r.name, r]) : []);
	const up = relays.filter(r => r.up), trunks = [], jobs = [], starts = [], drops = [];
	for (const r of up) {
		const old = was.get(r.name);
		r.bits = 8 * rate(r.status, old && old.status, 'bytes', seconds);
		r.segments = rate(r.status, old && old.status, 'segments', seconds);
		for (const t of r.trunks) {
			const o = old && old.trunks.find(x => x.path === t.path && x.worker === t.worker);
			trunks.push({ relay: r.name, bits: 8 * rate(t, o, 'tx_bytes', seconds), ...t });
		}
		for (const j of r.jobs) jobs.push({ relay: r.name, ...j });
		for (const s of r.starts) starts.push({ relay: r.name, ...s });
		for (const d of r.drops) if (d.count) {
			const o = old && old.drops.find(x => x.name === d.name);
			drops.push({ relay: r.name, per_s: rate(d, o, 'count', seconds), ...d });
		}
	}
	map(relays);
	table('relays', [
		['relay', r => r.name], ['cluster', r => r.up ? r.status.cluster : ''],
		['state', r => r.up ? r.status.phase : r.why, false, r => !r.up],
		['version', r => r.up ? versions(r.status) : '', false, r => r.up && versions(r.status).includes(',')],
		['up', r => r.up ? span(r.status.uptime_ms) : '', true],
		['busy', r => r.up ? (r.status.busy_permille / 10).toFixed(1) + ' %' : '', true],
		['bit/s', r => r.up ? si(r.bits) : '', true], ['segments/s', r => r.up ? si(r.segments) : '', true],
		['in custody', r => r.up ? r.status.custody : '', true],
		['buffers', r => r.up ? `${r.status.pool_in_use} / ${r.status.pool_size}` : '', true]],
	relays, 'no relay runs here');
	table('trunks', [
		['relay', t => t.relay], ['to', t => t.peer], ['state', t => t.state, false, t => t.state !== 'up'],
		['sealed', t => t.sealed ? 'yes' : 'no', false, t => !t.sealed],
		['round trip', t => (t.rtt_us / 1000).toFixed(2) + ' ms', true], ['bit/s out', t => si(t.bits), true],
		['sent again', t => t.retransmits, true], ['queued', t => t.queued, true], ['MTU', t => t.mtu, true]],
	trunks, 'no trunks');
	table('jobs', [
		['relay', j => j.relay], ['job', j => j.job, true], ['processes', j => j.processes, true],
		['here', j => `${j.local_up} of ${j.local}`, true], ['trunks', j => `${j.trunks_up} of ${j.trunks}`, true,
			j => j.trunks_up < j.trunks], ['since', j => span(j.age_ms), true]],
	jobs, 'no jobs');
	table('starts', [
		['relay', s => s.relay], ['client', s => s.client === undefined ? '?' :
			s.clients ? `${s.client} of ${s.clients}` : s.client, true], ['from', s => s.from],
		['since', s => span(s.age_ms), true], ['waits for', s => s.waits_for]],
	starts, 'none');
	drops.sort((a, b) => b.per_s - a.per_s || b.count - a.count);
	table('drops', [
		['relay', d => d.relay], ['reason', d => d.name], ['per second', d => d.per_s.toFixed(1), true],
		['count', d => d.count, true], ['what it means', d => d.help]], drops, 'nothing');
	before = { at: performance.now(), relays };
	$('said').className = up.length === relays.length ? '' : 'bad';
	$('said').textContent = `${up.length} of ${relays.length} relays answer, ${new Date().toLocaleTimeString()}`;
}

async function ask() {
	try {
		const r = await fetch('/api/relays');
		if (!r.ok) throw new Error(await r.text());
		show(await r.json());
	} catch (e) {
		$('said').className = 'bad';
		$('said').textContent = 'no answer: ' + e.message;
	}
	setTimeout(ask, 1000);
}
ask();
