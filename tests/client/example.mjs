/**
 * The example of the page against a service that is made up here: run in a folder with example.js and plans.json.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const plans = JSON.parse(readFileSync(new URL("./plans.json", import.meta.url), "utf8"));
const campaign = plans[0].digest;
const [asked, kept] = [[], new Map()];
let works = false;

const globals = {
	location: { hash: `#${campaign}` },
	localStorage: { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) },
	fetch: async (path, { method = "GET", body } = {}) => {
		asked.push({ path, method, body });
		const answer = { plan: plans.at(-1), plans }[path.split("/").at(-1)];
		return new Response(JSON.stringify(answer ?? {}), { status: method === "GET" || works ? 200 : 503 });
	},
};
for (const [name, value] of Object.entries(globals))
	Object.defineProperty(globalThis, name, { value, configurable: true });

const { send } = await import("./example.js");
await assert.rejects(send({ q0: "a1", q1: "a2" }));
works = true;
const report = await send({ q0: "a0", q1: "a0" });
const sent = asked.filter(({ method }) => method === "POST");
assert.equal(sent.length, 2);
assert.equal(sent[0].body, sent[1].body, "a report is drawn once and sent again");
assert.equal(sent[0].path, `/v1/campaigns/${campaign}/reports`);
assert.deepEqual(JSON.parse(sent[1].body), report);
assert.equal(report.plan, plans[1].digest);
assert.deepEqual([...kept.values()], [sent[0].body]);
