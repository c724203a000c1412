/**
 * node refusals.mjs PLANS: what the client refuses, and that no refusal quotes an answer. PLANS has documents by name.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as client from "../../src/privtally/client/privtally.js";

const { CampaignError, PlanError, PrivtallyError, RecordError, checkCampaign, encode, loadPlan, privatise } = client;
const documents = JSON.parse(readFileSync(process.argv[2], "utf8"));
const SECRET = "zzz-my-secret-answer";

/** A document with other content and the digest that belongs to it. */
async function signed(document, change) {
	const { digest, ...content } = JSON.parse(document);
	change(content);
	return JSON.stringify({ ...content, digest: await client.digest(content) });
}

test("an edited plan is refused, another layout is not", async () => {
	const plan = JSON.parse(documents.first);
	assert.equal((await loadPlan(JSON.stringify(plan, null, 4))).digest, plan.digest);
	const digests = ["0".repeat(64), plan.digest.toUpperCase()];
	for (const change of [{ epsilon: 2 }, { answers: 3 }, ...digests.map((digest) => ({ digest }))])
		await assert.rejects(loadPlan(JSON.stringify({ ...plan, ...change })), PlanError);
});

test("what is not a plan is refused", async () => {
	const others = ["", "{", "[]", "null", "7", '"plan"', "{}", undefined, {}];
	for (const other of [...others, documents.first.slice(0, -20), `${documents.first}x`]) await assert.rejects(loadPlan(other), PlanError);
});

test("unknown fields and wrong types are refused, whatever the digest", async () => {
	const changes = [
		(plan) => (plan.extra = 1),
		(plan) => (plan.schema.attributes[0].note = "x"),
		(plan) => (plan.epsilon = "1"),
		(plan) => (plan.epsilon = 33),
		(plan) => (plan.phase = true),
		(plan) => (plan.answers = 2 ** 53),
		(plan) => (plan.answers = 1.5),
		(plan) => (plan.parts[0].channels[0].kind = ["grr"]),
		(plan) => (plan.parts[0].channels[0].kind = "toString"),
		(plan) => (plan.parts[0].attributes = [1]),
		(plan) => (plan.schema.attributes[1].labels[0] = "cafe\u0301"),
		(plan) => (plan.schema.attributes[1].labels[0] = "a\u200b"),
		(plan) => (plan.schema.attributes[1].labels[0] = plan.schema.attributes[1].labels[1]),
		(plan) => delete plan.nonce,
	];
	await loadPlan(await signed(documents.first, () => {}));
	for (const change of changes)
		await assert.rejects(loadPlan(await signed(documents.first, change)), PlanError, `${change}`);
	await assert.rejects(loadPlan(documents.first.replace("{", '{"__proto__":{},')), PlanError);
});

test("a plan of another campaign than the pinned one is refused", async () => {
	const texts = [documents.first, documents.second, documents.foreign];
	const [first, second, foreign] = await Promise.all(texts.map(loadPlan));
	checkCampaign(first.digest, first, first);
	checkCampaign(first.digest, first, second);
	assert.throws(() => checkCampaign(first.digest, first, foreign), CampaignError);
	assert.throws(() => checkCampaign(foreign.digest, first, second), CampaignError);
	assert.throws(() => checkCampaign(foreign.digest, foreign, second), CampaignError);
	assert.throws(() => checkCampaign(second.digest, second, second), CampaignError);
	const changes = [
		(plan) => (plan.epsilon /= 2),
		(plan) => (plan.answers += 1),
		(plan) => (plan.mechanism = "cond-rr"),
		(plan) => (plan.schema.attributes[0].name = "another question"),
	];
	for (const change of changes) {
		const other = await loadPlan(await signed(documents.second, change));
		assert.throws(() => checkCampaign(first.digest, first, other), CampaignError, `${change}`);
	}
});

test("answers that do not fit are refused and never quoted", async () => {
	const { schema } = await loadPlan(documents.survey);
	const right = { age: 40, height: "1.7", smokes: "no", rooms: 3 };
	assert.deepEqual(encode(schema, right), [2, 1, 0, 1]);
	assert.deepEqual(encode(schema, { ...right, height: undefined, unknown: SECRET }), [2, 3, 0, 1]);
	const wrong = {
		age: [null, undefined, "", SECRET, "40.0", "4e1", 40.5, -1, 121, "121", "９", NaN, Infinity, true, [40], 40n],
		height: [{ valueOf: () => 1.7 }, SECRET, "1,7", "0x1", 3, "1e999", NaN, -Infinity, false, ["1.7"], new Date(0)],
		rooms: [null, "", SECRET, "0", 9, "2.5", 2.5, NaN, Infinity, true, [3], "8.0", "-1e9"],
		smokes: [null, " ", SECRET, "No", " no", 0, true, ["no"], { toString: () => "no" }, "toString"],
	};
	for (const [name, values] of Object.entries(wrong))
		for (const value of values)
			assert.throws(
				() => encode(schema, { ...right, [name]: value }),
				(error) => error instanceof RecordError && error.message.includes(name) && !error.message.includes(SECRET),
			);
	for (const answers of [undefined, null, {}, [], "no", 7]) assert.throws(() => encode(schema, answers), RecordError);
});

test("the browser's randomness is used unless another is given, and must be as long as asked for", async () => {
	const plan = await loadPlan(documents.survey);
	const answers = { age: 40, smokes: "no", rooms: 4 };
	const reports = Array.from({ length: 20 }, () => JSON.parse(privatise(plan, answers)));
	assert.equal(new Set(reports.map((report) => report.id)).size, 20);
	for (const { format, plan: answered, id, codes } of reports) {
		assert.deepEqual([format, answered, codes.length], ["privtally.report/1", plan.digest, 4]);
		assert.match(id, /^[0-9a-f]{32}$/);
	}
	for (const length of [0, 7, 9])
		assert.throws(() => privatise(plan, answers, () => new Uint8Array(length)), PrivtallyError);
});
