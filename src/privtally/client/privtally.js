/**
 * privtally in the browser: answers become a private report before anything leaves the page. Plans have the same digests
 * and weights as in Python, and the same random bytes give the same report. No float takes part in a draw.
 */

/** Any refusal, in one sentence that never quotes an answer: of a plan, of a plan's campaign, of answers. */
export class PrivtallyError extends Error {}
export class PlanError extends PrivtallyError {}
export class CampaignError extends PrivtallyError {}
export class RecordError extends PrivtallyError {}

const WORD = 1n << 64n; // how many words of randomness there are
const UNIT = 2 ** 32; // probabilities in a plan are whole multiples of one part in this many
const MAX_INTEGER = Number.MAX_SAFE_INTEGER;
const MAX_LABELS = 65_536;
const MOST_BRANCHES = 100_000;
const MOST_VECTORS = 2 ** 26;
const NO_ANSWER = "no answer";

// Canonical JSON

/** The RFC 8785 form of a value. @returns {string} */
export function canonical(value) {
	if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
	if (value === null || typeof value !== "object") return JSON.stringify(value);
	const keys = Object.keys(value).sort();
	return `{${keys.map(key => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

/** SHA-256 of the canonical form, in hexadecimal. @returns {Promise<string>} */
export async function digest(value) {
	if (!globalThis.crypto?.subtle) throw new PrivtallyError("digests need a page served over HTTPS");
	return hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(value))));
}

const hex = bytes => Array.from(new Uint8Array(bytes), byte => byte.toString(16).padStart(2, "0")).join("");

function parse(text) {
	try {
		return JSON.parse(text, (key, value) => Object.freeze(value));
	} catch {
		throw new PlanError("the plan is not well-formed");
	}
}

// The form of a plan

const refuse = where => {
	throw new PlanError(`the plan is refused: '${where}' is not as it must be`);
};

/** Refuse a value without the form: a test, a list [form], or an object of forms by name, those with "?" optional. */
function check(form, value, where) {
	if (typeof form === "function") return form(value, where) || refuse(where);
	if (Array.isArray(form)) {
		if (!Array.isArray(value) || !value.length) refuse(where);
		return value.forEach((item, place) => check(form[0], item, `${where}[${place}]`));
	}
	const names = new Map(Object.keys(form).map(name => [name.replace("?", ""), name]));
	for (const name in value) if (!names.has(name)) refuse(where);
	for (const [name, stated] of names)
		if (Object.hasOwn(Object(value), name)) check(form[stated], value[name], `${where}.${name}`);
		else if (stated === name) refuse(`${where}.${name}`);
}

const oneOf = (...values) => value => values.includes(value);
const text = form => value => typeof value === "string" && form.test(value);
const number = (low, high) => value => typeof value === "number" && value >= low && value <= high;
const integer = (low = 0, high = MAX_INTEGER) => value => Number.isInteger(value) && value >= low && value <= high;

/** An object with a `kind` of the table, and the fields of this kind. */
const tagged = kinds => (value, where) => {
	const kind = Object.keys(kinds).find(name => name === Object(value).kind) ?? refuse(where);
	check({ kind: () => true, ...kinds[kind].fields }, value, where);
	return true;
};

// Schema and answers

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/u;
const WHOLE = /^[+-]?\d{1,300}$/;
const DECIMAL = /^[+-]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})([eE][+-]?\d{1,3})?$/;

const visible = value => text(/\S/)(value) && !INVISIBLE.test(value) && value === value.normalize("NFC");
const yes = oneOf(true); // a flag that is not set is absent
const ATTRIBUTE = {
	name: visible,
	labels: [visible],
	"optional?": yes,
	"ordered?": yes,
	"bins?": [number(-MAX_INTEGER, MAX_INTEGER)],
	"decimals?": yes,
	"clamp?": yes,
};

function attribute(value, where) {
	check(ATTRIBUTE, value, where);
	const { labels, optional, ordered, bins, decimals, clamp } = value;
	const answers = labels.length - (optional ? 1 : 0);
	const rising = bins?.every((edge, place) => (decimals || Number.isInteger(edge)) && !(bins[place - 1] >= edge));
	const fit = bins ? ordered && rising && bins.length === answers + 1 : !decimals && !clamp;
	const different = answers >= 2 && labels.length <= MAX_LABELS && new Set(labels).size === labels.length;
	return fit && different && (!optional || labels[answers] === NO_ANSWER);
}

/**
 * The codes of answers: labels, or numbers where there are bins; missing, blank or null where an attribute is optional.
 * @param {object} schema of a plan
 * @param {Object<string, string | number | null>} answers by the attributes' names
 * @returns {number[]}
 */
export function encode(schema, answers) {
	const given = new Map(Object.entries(answers ?? {}));
	return schema.attributes.map(own => codeOf(own, given.get(own.name)));
}

function codeOf({ name, labels, optional, bins, decimals, clamp }, answer) {
	const wrong = fault => new RecordError(`the answer to '${name}' ${fault}`);
	const text = typeof answer === "string" ? answer.normalize("NFC") : null;
	const blank = answer === null || answer === undefined || text?.trim() === "";
	if (blank && !optional) throw wrong("is missing");
	if (blank || (optional && text === NO_ANSWER)) return labels.length - 1;
	if (!bins) {
		if (!labels.includes(text)) throw wrong("is none of its labels");
		return labels.indexOf(text);
	}
	const stated = text === null ? typeof answer === "number" : (decimals ? DECIMAL : WHOLE).test(text.trim());
	const value = stated ? Number(answer) : NaN;
	if (!(decimals ? Number.isFinite(value) : Number.isInteger(value))) throw wrong(`is not a ${decimals ? "" : "whole "}number`);
	if (!clamp && (value < bins[0] || value > bins.at(-1))) throw wrong("is outside its range");
	const reached = bins.filter(edge => edge <= value).length;
	return Math.min(Math.max(reached - 1, 0), bins.length - 2);
}

// Integer weights from e to a rational power, [top, bottom]

/** The exact fraction value/shares. */
function fraction(value, shares) {
	let bottom = BigInt(shares);
	for (; !Number.isInteger(value); value *= 2) bottom *= 2n;
	return [BigInt(value), bottom];
}

/** floor(f(e^power)) for a monotone f, floor(f(a/b)) being `floor(a, b)`, from partial sums of the series, total/unit. */
function floorOf(floor, [top, bottom]) {
	let [total, term, unit] = [1n, 1n, 1n];
	for (let index = 1n; ; index += 1n) {
		term *= top;
		total *= bottom * index;
		unit *= bottom * index;
		const found = floor(total, unit);
		// From here on terms fall by half or more, so that the rest is at most twice the next term.
		if (index * bottom >= 2n * top && found === floor(total + 2n * term, unit)) return found;
		total += term;
	}
}

/** The weights `same` of each of `inside` codes and `other` of the rest, with same/other ≤ e^budget. */
function weights(budget, inside, outputs) {
	const [within, beyond] = [BigInt(inside), BigInt(outputs - inside)];
	const other = floorOf((a, b) => (WORD * b) / (within * a + beyond * b), budget);
	const same = floorOf((a, b) => (a * other) / b, budget);
	if (!other) refuse("epsilon");
	return { same, other, total: within * same + beyond * other };
}

// Channels: draw(given, source) is an output code for an input code; a source gives words of 64 random bits

/** A uniform number below `total`: so many of the words stand for each number, the others are drawn again. */
function below(total, source, words = WORD - 1n) {
	const fit = words / total;
	let word = source();
	while (word >= total * fit) word = source();
	return word / fit;
}

/** Keeps a code with weight `same`, replaces it by each of the others with weight `other`. */
function keep(size, { same, other, total }) {
	const draw = (given, source) => {
		if (!other) return given;
		const steps = Number(below(total, source) / other);
		return (given + Math.min(steps, size - 1) + 1) % size; // the last step leads back to the code itself
	};
	return { inputs: size, outputs: size, same, other, draw, represent: given => given };
}

/** Every code with the same probability. */
const uniform = outputs => ({
	draw: (given, source) => (outputs === 1 ? 0 : Number(below(BigInt(outputs), source, WORD))),
});

/** A code from the row of the input, or from the only row. */
const conditional = rows => ({
	draw(given, source) {
		const row = rows[rows.length > 1 ? given : 0];
		const point = Number(source() >> 32n);
		let code = 0;
		for (let end = row[0] * UNIT; point >= end; end += row[code] * UNIT) code += 1;
		return code;
	},
});

// Points of a projective space are vectors modulo `order` whose first non-zero coordinate is 1

const power = (base, times) => (times ? base * power(base, times - 1) : 1);
const points = (order, dimension) => (power(order, dimension) - 1) / (order - 1);
const isPrime = order => ![...Array(order).keys()].some(factor => factor > 1 && order % factor === 0);
const digits = (value, order, count) => (count ? [...digits(Math.floor(value / order), order, count - 1), value % order] : []);

function vectorOf(point, order, dimension) {
	const width = power(order, dimension - 1);
	if (point < width) return [1, ...digits(point, order, dimension - 1)];
	return [0, ...vectorOf(point - width, order, dimension - 1)];
}

function pointOf([first, ...rest], order) {
	if (!first) return power(order, rest.length) + pointOf(rest, order);
	let inverse = 1;
	while ((first * inverse) % order !== 1) inverse += 1;
	return rest.reduce((point, value) => point * order + ((value * inverse) % order), 0);
}

/** Codes are points; those of a label's hyperplane have the weight `same`, all others the weight `other`. */
function projective(budget, size, { order, dimension }) {
	const [outputs, inside] = [points(order, dimension), points(order, dimension - 1)];
	if (power(order, dimension) > MOST_VECTORS || !isPrime(order) || size > outputs) refuse("channels");
	const { same, other, total } = weights(budget, inside, outputs);
	const end = BigInt(inside) * same;
	// The code at a place among those of the label's hyperplane (outside = 0), or among the others (outside = 1).
	const codeAt = (label, place, outside) => {
		const own = vectorOf(label, order, dimension);
		const vector = (outside ? digits : vectorOf)(place, order, dimension - 1);
		const solved = own.indexOf(1);
		vector.splice(solved, 0, 0);
		const product = vector.reduce((sum, value, at) => sum + value * own[at], 0) % order;
		vector[solved] = (outside + order - product) % order;
		return pointOf(vector, order);
	};
	const draw = (given, source) => {
		const word = below(total, source);
		return word < end ? codeAt(given, Number(word / same), 0) : codeAt(given, Number((word - end) / other), 1);
	};
	const represent = (given, source) => codeAt(given, uniform(inside).draw(given, source), 0);
	return { inputs: size, outputs, same, other, draw, represent };
}

/** Channels that see an answer, by kind, with the fields that a plan states. */
const CHANNELS = {
	grr: { channel: (budget, size) => keep(size, weights(budget, 1, size)) },
	pg: { fields: { order: integer(2, 406), dimension: integer(3, 26) }, channel: projective },
};

// Fills: codes of attributes that are not asked, from the private codes of the pivots alone

const probability = value => number(0, 1)(value) && Number.isInteger(value * UNIT);
const rows = [[probability]];
const isLaw = (row, size) => row.length === size && row.reduce((sum, value) => sum + value) === 1;

/**
 * Fills by kind: the `fields` that a plan states, whether they suit attributes with the channels `asked`, and the
 * channel from the private codes of a branch's pivots, as one number, to another attribute's code.
 */
const FILLS = {
	uniform: { channel: (fill, branch, other, asked) => uniform(asked[other].outputs) },
	row: {
		fields: { rows },
		suits: (fill, asked) => fill.rows.length === asked.length && fill.rows.every((row, own) => isLaw(row, asked[own].inputs)),
		channel: (fill, branch, other, asked) => {
			const labels = conditional([fill.rows[other]]);
			return { draw: (given, source) => asked[other].represent(labels.draw(given, source), source) };
		},
	},
	copy: {
		fields: { probability: rows },
		suits: (fill, asked, branches) =>
			branches[0].length === 1 &&
			asked.every(own => own.inputs === asked[0].inputs && own.same === asked[0].same) &&
			fill.probability.length === asked.length &&
			fill.probability.every((row, own) => row.length === asked.length && row[own] === 1),
		channel: (fill, [pivot], other, asked) => {
			const [unit, rest] = [BigInt(UNIT), BigInt(asked[other].outputs - 1)];
			const copies = BigInt(fill.probability[pivot][other] * UNIT);
			return keep(asked[other].outputs, { other: unit - copies, total: unit * rest });
		},
	},
	table: {
		fields: { tables: [{ pivots: [integer()], other: integer(), rows }] },
		suits: (fill, asked, branches) => {
			const places = branches.flatMap(branch => others(asked, branch).map(other => [branch, other]));
			const height = branch => branch.reduce((count, own) => count * asked[own].inputs, 1);
			return (
				asked.every(own => own.outputs === own.inputs) &&
				canonical(places) === canonical(fill.tables.map(table => [table.pivots, table.other])) &&
				fill.tables.every(({ pivots, rows }) => rows.length === height(pivots)) &&
				fill.tables.every(({ other, rows }) => rows.every(row => isLaw(row, asked[other].inputs)))
			);
		},
		channel: (fill, branch, other) =>
			conditional(fill.tables.find(table => table.other === other && `${table.pivots}` === `${branch}`).rows),
	},
	silent: { channel: () => ({ draw: () => null }) },
};

// Parts and branches

const others = (asked, branch) => [...asked.keys()].filter(own => !branch.includes(own));
const comb = (count, chosen) => (chosen ? (comb(count - 1, chosen - 1) * count) / chosen : 1);

/** All choices of so many places, in lexicographic order. */
function combinations(places, size) {
	if (!size) return [[]];
	const firsts = places.slice(0, places.length - size + 1);
	return firsts.flatMap((own, at) => combinations(places.slice(at + 1), size - 1).map(rest => [own, ...rest]));
}

/** A part with its branches and channels, whose weights are computed here. */
function buildPart({ attributes, pivots, channels, fill }, sizes, budget) {
	const count = attributes.length;
	if (channels.length !== count || pivots > count || comb(count, pivots) > MOST_BRANCHES || !fill !== (pivots === count))
		refuse("parts");
	const asked = channels.map((own, place) => CHANNELS[own.kind].channel(budget, sizes[attributes[place]], own));
	const branches = combinations([...asked.keys()], pivots);
	if (FILLS[fill?.kind]?.suits?.(fill, asked, branches) === false) refuse("fill");
	return { attributes, asked, branches, fill };
}

/** One sub-report for a record's codes, written into `report`. */
function drawPart({ attributes, asked, branches, fill }, codes, report, source) {
	const branch = branches[uniform(branches.length).draw(0, source)];
	let given = 0;
	for (const own of branch) {
		const code = asked[own].draw(codes[attributes[own]], source);
		report[attributes[own]] = code;
		given = given * asked[own].outputs + code;
	}
	for (const other of others(asked, branch))
		report[attributes[other]] = FILLS[fill.kind].channel(fill, branch, other, asked).draw(given, source);
}

// Plans and reports

const DIGEST = text(/^[0-9a-f]{64}$/);
const PLAN = {
	format: oneOf("privtally.plan/1"),
	digest: DIGEST,
	schema: { attributes: [attribute] },
	epsilon: number(1e-6, 32),
	mechanism: oneOf("spl", "smp", "rs-fd", "rs-rfd", "corr-rr", "cond-rr"),
	phase: integer(1, 1_000),
	answers: integer(1, 1_000),
	parts: [{ attributes: [integer()], pivots: integer(1), channels: [tagged(CHANNELS)], "fill?": tagged(FILLS) }],
	"groups?": [[integer()]],
	"nonce?": text(/^[0-9a-f]{32}$/),
	"campaign?": DIGEST,
	"learned?": {
		history: [{ plan: DIGEST, counts: DIGEST, reports: integer(1) }],
		rule: oneOf(null, "robust", "proposition", "published"),
		people: value => value === null || integer(1)(value),
		"pivot_guess?": number(Number.MIN_VALUE, 1),
	},
};

function checkWhole({ schema, phase, parts, nonce, campaign, learned }) {
	const [names, first] = [schema.attributes.map(own => own.name), phase === 1];
	if (new Set(names).size < names.length) refuse("schema");
	if (!nonce === first || !campaign !== first || !learned !== first) refuse("phase");
	const stated = parts.flatMap(part => part.attributes).sort((one, two) => one - two);
	if (`${stated}` !== `${[...names.keys()]}`) refuse("parts");
}

/**
 * Read a plan strictly: what is unknown, of a wrong type or other than its digest says is refused.
 * @param {string} text the document
 * @returns {Promise<object>} its fields, `campaignId`, and `sampler`: the parts, with the channels of attributes, `asked`
 */
export async function loadPlan(text) {
	const plan = parse(text);
	check(PLAN, plan, "plan");
	const { digest: claimed, ...content } = plan;
	if (claimed !== (await digest(content))) throw new PlanError("the plan was edited: its content does not match its digest");
	checkWhole(plan);
	const sizes = plan.schema.attributes.map(own => own.labels.length);
	const budget = part => fraction(plan.epsilon, plan.parts.length * part.pivots);
	const sampler = plan.parts.map(part => buildPart(part, sizes, budget(part)));
	return Object.freeze({ ...plan, campaignId: plan.campaign ?? claimed, sampler });
}

/**
 * Refuse a plan that is not of the campaign that a link pins, so that nobody gets a plan of their own.
 * @param {string} pinned the digest of the first plan
 * @param {object} first the campaign's first plan
 * @param {object} plan the one to answer
 */
export function checkCampaign(pinned, first, plan) {
	if (first.digest !== pinned || first.phase !== 1) throw new CampaignError("the first plan is not the pinned one");
	if (plan.campaignId !== pinned) throw new CampaignError("the plan belongs to another campaign");
	for (const name of ["schema", "epsilon", "mechanism", "answers"])
		if (canonical([plan[name]]) !== canonical([first[name]]))
			throw new CampaignError(`the plan has another '${name}' than the first one`);
}

/**
 * A private report: the line of JSON to keep, to send, and to send again if it got lost. Draw once: a second report
 * gives away more than the plan's epsilon.
 * @param {object} plan
 * @param {object} answers as `encode` takes them
 * @param {(count: number) => Uint8Array} [randomBytes]
 * @returns {string}
 */
export function privatise(plan, answers, randomBytes = count => crypto.getRandomValues(new Uint8Array(count))) {
	const bytes = count => {
		const drawn = randomBytes(count);
		if (drawn.length !== count) throw new PrivtallyError(`randomBytes must give ${count} bytes`);
		return drawn;
	};
	const source = () => bytes(8).reduceRight((word, byte) => (word << 8n) | BigInt(byte), 0n);
	const codes = encode(plan.schema, answers);
	const id = hex(bytes(16));
	const report = Array(codes.length).fill(null);
	for (const part of plan.sampler) drawPart(part, codes, report, source);
	return JSON.stringify({ format: "privtally.report/1", plan: plan.digest, id, codes: report });
}
