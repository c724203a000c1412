/**
 * node vectors.mjs VECTORS MODULE…: for each module the first places where it differs from the vectors, as JSON.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** Random bytes that are given, one after the other. */
function script(data) {
	let used = 0;
	const read = (count) => data.subarray(used, (used += count));
	return { read, left: () => data.length - used };
}

async function differences(client, { plan: document, digest, campaign, weights, cases }) {
	const found = [];
	const plan = await client.loadPlan(document);
	if (plan.digest !== digest || plan.campaignId !== campaign) found.push("digest");
	const jointly = plan.jointly ? [{ asked: plan.jointly.asked.map((own) => own.channel) }] : [];
	const computed = [...plan.sampler, ...jointly].map((part) => part.asked.map((own) => [`${own.same}`, `${own.other}`]));
	if (JSON.stringify(computed) !== JSON.stringify(weights)) found.push("weights");
	for (const { answers, bytes, report } of cases) {
		const source = script(new Uint8Array(Buffer.from(bytes, "hex")));
		if (client.privatise(plan, answers, source.read) !== report) found.push("report");
		else if (source.left()) found.push("bytes left");
	}
	return found;
}

const [file, ...modules] = process.argv.slice(2);
const vectors = JSON.parse(readFileSync(file, "utf8"));
const all = {};
for (const module of modules) {
	const client = await import(pathToFileURL(module));
	all[module] = [];
	for (const [place, vector] of vectors.entries()) {
		const found = await differences(client, vector).catch((error) => [`${error.constructor.name}: ${error.message}`]);
		if (found.length && all[module].push({ place, found }) === 5) break;
	}
}
console.log(JSON.stringify(all));
