/**
 * Answers become a private report before anything leaves the page. Digests, weights and, from the same random bytes,
 * reports are those of Python. No float takes part in a draw.
 */

/** Any refusal; none quotes an answer. */
export class PrivtallyError extends Error {}
export class PlanError extends PrivtallyError {}
export class CampaignError extends PrivtallyError {}
export class RecordError extends PrivtallyError {}

const WORD = 1n << 64n; // how many words of randomness there are
const UNIT = 2 ** 32; // probabilities in plans are multiples of 1 / UNIT
const MAX_INTEGER = Number.MAX_SAFE_INTEGER;
const MAX_LABELS = 65_536;
const MOST_BRANCHES = 100_000;
const MOST_CODES = 2 ** 22;
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

/** Refuse a value that is not of the form: a test, a list [form], or forms by name, "?" for optional. */
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

/** An object with the fields of its `kind`. */
const tagged = kinds => (value, where) => {
	const kind = Object.keys(kinds).find(name => name === Object(value).kind) ?? refuse(where);
	check({ kind: () => true, ...kinds[kind].fields }, value, where);
	return true;
};

// Schema and answers

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/u;
const WHOLE = /^[+-]?\d{1,300}$/;
const DECIMAL = /^[+-]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})([eE][+-]?\d{1,3})?$/;
const DIGITS = /^([+-]?\d*)\.?(\d*)(?:[eE](.*))?$/;

const visible = value => text(/\S/)(value) && !INVISIBLE.test(value) && value === value.normalize("NFC");
const yes = oneOf(true); // a flag that is not set is absent
const edges = [number(-MAX_INTEGER, MAX_INTEGER)];
const ATTRIBUTE = {
	name: visible,
	labels: [visible],
	"merged?": [[visible]],
	"bins?": edges,
	"grid?": edges,
	"optional?": yes,
	"ordered?": yes,
	"decimals?": yes,
	"clamp?": yes,
};

function attribute(value, where) {
	check(ATTRIBUTE, value, where);
	const { labels, merged, optional, ordered, bins, grid, decimals, clamp } = value;
	const answers = labels.length - (optional ? 1 : 0);
	const numbers = bins ?? grid;
	const rising = numbers?.every((edge, place) => (decimals || Number.isInteger(edge)) && !(numbers[place - 1] >= edge));
	const points = grid && !merged && canonical(grid.map(String)) === canonical(labels.slice(0, answers));
	const many = bins ? !grid && bins.length === answers + 1 : points;
	const fit = numbers ? ordered && rising && many : !decimals && !clamp;
	const different = answers >= 2 && labels.length <= MAX_LABELS && new Set(labels).size === labels.length;
	return fit && different && (!optional || labels[answers] === NO_ANSWER);
}

/**
 * Answers as codes: labels, or numbers for bins or a grid, which rounds at random; missing, blank or null skips an
 * optional attribute.
 * @param {object} schema of a plan
 * @param {Object<string, string | number | null>} answers by name
 * @param {(count: number) => Uint8Array} [randomBytes]
 * @returns {number[]}
 */
export function encode(schema, answers, randomBytes = systemBytes) {
	const given = new Map(Object.entries(answers ?? {}));
	const source = sourceOf(randomBytes);
	return schema.attributes.map(own => {
		const code = codeOf(own, given.get(own.name) ?? "", source);
		if (code < 0) throw new RecordError(`the answer to '${own.name}' is missing or does not fit`);
		return code;
	});
}

/** The code of an answer, or -1. */
function codeOf({ labels, merged, optional, bins, grid, decimals, clamp }, answer, source) {
	const text = typeof answer === "string" ? answer.normalize("NFC") : null;
	if (optional && (text === NO_ANSWER || text?.trim() === "")) return labels.length - 1;
	if (merged) return merged.findIndex(own => own.includes(text));
	if (!bins && !grid) return labels.indexOf(text);
	const form = decimals ? DECIMAL : WHOLE;
	const value = typeof answer === "number" || (text && form.test(text.trim())) ? Number(answer) : NaN;
	if (!(decimals ? Number.isFinite(value) : Number.isInteger(value))) return -1;
	if (grid) return onGrid(grid, text?.trim() ?? `${answer}`, clamp, source);
	if (!clamp && (value < bins[0] || value > bins.at(-1))) return -1;
	const reached = bins.filter(edge => edge <= value).length;
	return Math.min(Math.max(reached - 1, 0), bins.length - 2);
}

/** The code of one of the two grid points around a number, drawn so that their mean is the number; -1 out of range. */
function onGrid(points, text, clamp, source) {
	const decimals = [text, ...points].map(own => {
		const [, whole, part, power = 0] = DIGITS.exec(own);
		return [BigInt(whole + part), power - part.length];
	});
	const unit = decimals.reduce((least, [, power]) => Math.min(least, power), 0);
	const [stated, ...grid] = decimals.map(([digits, power]) => digits * 10n ** BigInt(power - unit));
	const [low, high] = [grid[0], grid.at(-1)];
	if (!clamp && (stated < low || stated > high)) return -1;
	const value = stated < low ? low : stated > high ? high : stated;
	const below = Math.max(grid.findIndex(point => point >= value) - 1, 0);
	return below + happens(value - grid[below], grid[below + 1] - grid[below], source);
}

/** 1 with the exact chance top/bottom, else 0: words are binary digits of a uniform number, compared until they differ. */
function happens(top, bottom, source) {
	const [digits, rest] = [(top * WORD) / bottom, (top * WORD) % bottom];
	const word = source();
	return word === digits && rest ? happens(rest, bottom, source) : Number(word < digits);
}

// Random bytes

const systemBytes = count => crypto.getRandomValues(new Uint8Array(count));

/** A source of words of 64 bits, the lowest byte first. */
const sourceOf = randomBytes => () => exactly(8, randomBytes).reduceRight((word, byte) => (word << 8n) | BigInt(byte), 0n);

function exactly(count, randomBytes) {
	const drawn = randomBytes(count);
	if (drawn.length !== count) throw new PrivtallyError(`randomBytes must give ${count} bytes`);
	return drawn;
}

// Integer weights from e to a rational power, [top, bottom]

/** The exact fraction value/shares. */
function fraction(value, shares) {
	let bottom = BigInt(shares);
	for (; !Number.isInteger(value); value *= 2) bottom *= 2n;
	return [BigInt(value), bottom];
}

/** floor(f(e^power)) for a monotone f with floor(f(a/b)) = `floor(a, b)`, from partial sums, total/unit. */
function floorOf(floor, [top, bottom]) {
	let [total, term, unit] = [1n, 1n, 1n];
	for (let index = 1n; ; index += 1n) {
		term *= top;
		total *= bottom * index;
		unit *= bottom * index;
		const found = floor(total, unit);
		// Terms fall by half or more now: the rest is at most twice the next term.
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

// Draws (given, source) of an output code for an input code; a source gives words of 64 random bits

/** A uniform number below `total`; words beyond its largest multiple are drawn again. */
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

const uniform = outputs => (given, source) =>
	outputs === 1 ? 0 : Number(below(BigInt(outputs), source, WORD));

/** A code from the row of the input, or from the only row. */
const conditional = rows => (given, source) => {
	const row = rows[rows.length > 1 ? given : 0];
	const point = Number(source() >> 32n);
	let code = 0;
	for (let end = row[0] * UNIT; point >= end; end += row[code] * UNIT) code += 1;
	return code;
};

/** Copies the input with the given probability, else takes another code. */
const copying = (probability, size) => {
	const [unit, copies] = [BigInt(UNIT), BigInt(probability * UNIT)];
	return keep(size, { other: unit - copies, total: unit * BigInt(size - 1) }).draw;
};

/** A label of the class that matches the input's class, `given`, or of another class. */
const byClass = (given, classes, probability) => (code, source) => {
	const held = [...new Set(classes)].sort((one, two) => one - two);
	const match = held.indexOf(given[code]);
	const drawn = held[(match < 0 ? uniform(held.length) : copying(probability, held.length))(match, source)];
	const labels = [...classes.keys()].filter(label => classes[label] === drawn);
	return labels[uniform(labels.length)(0, source)];
};

/** A draw of labels as one of the codes of an asked channel. */
const asCodes = (label, asked) => (given, source) => asked.represent(label(given, source), source);

// Points of a projective space are vectors modulo `order` whose first non-zero coordinate is 1

const power = (base, times) => (times ? base * power(base, times - 1) : 1);
const points = (order, dimension) => (power(order, dimension) - 1) / (order - 1);
const isPrime = order => ![...Array(order).keys()].some(factor => factor > 1 && order % factor === 0);
const digits = (value, order, count) =>
	count ? [...digits(Math.floor(value / order), order, count - 1), value % order] : [];

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

/** Codes are points; those of a label's hyperplane have the weight `same`, the others `other`. */
function projective(budget, size, { order, dimension }) {
	const [outputs, inside] = [points(order, dimension), points(order, dimension - 1)];
	if (power(order, dimension) > MOST_VECTORS || !isPrime(order) || size > outputs) refuse("channels");
	const { same, other, total } = weights(budget, inside, outputs);
	const end = BigInt(inside) * same;
	// The code at a place among those of the label's hyperplane, or among the others (outside = 1).
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
	const represent = (given, source) => codeAt(given, uniform(inside)(given, source), 0);
	return { inputs: size, outputs, same, other, draw, represent, sets: true };
}

/** Channels by kind, with the fields that a plan states. */
const CHANNELS = {
	grr: { channel: (budget, size) => keep(size, weights(budget, 1, size)) },
	pg: { fields: { order: integer(2, 406), dimension: integer(3, 26) }, channel: projective },
};

// Fills

const probability = value => number(0, 1)(value) && Number.isInteger(value * UNIT);
const rows = [[probability]];
const orNull = test => value => value === null || test(value);
const two = test => value => Array.isArray(value) && value.length === 2 && value.every(test);
const isLaw = (row, size) => row.length === size && row.reduce((sum, value) => sum + value) === 1;

/**
 * Fills by kind: the fields that a plan states, whether they suit the channels `asked`, and the draw of a decoy's code
 * from the private codes of a branch's pivots, given as one number, and nothing else.
 */
const FILLS = {
	uniform: { draw: (fill, branch, other, asked) => uniform(asked[other].outputs) },
	row: {
		fields: { rows },
		suits: (fill, asked) =>
			fill.rows.length === asked.length && fill.rows.every((row, own) => isLaw(row, asked[own].inputs)),
		draw: (fill, branch, other, asked) => asCodes(conditional([fill.rows[other]]), asked[other]),
	},
	copy: {
		fields: { probability: rows },
		suits: (fill, asked, branches) =>
			branches[0].length === 1 &&
			asked.every(own => own.inputs === asked[0].inputs && own.same === asked[0].same) &&
			fill.probability.length === asked.length &&
			fill.probability.every((row, own) => row.length === asked.length && row[own] === 1),
		draw: (fill, [pivot], other, asked) => copying(fill.probability[pivot][other], asked[other].outputs),
	},
	aligned: {
		fields: { pairs: [{ pair: two(integer()), classes: two(Array.isArray), probability: two(orNull(probability)) }] },
		suits: (fill, asked, branches) =>
			branches[0].length === 1 &&
			fill.pairs.every(({ pair, classes }) => pair[0] < pair[1] && classes.every((own, side) => own.length === asked[pair[side]]?.inputs && new Set(own).size > 1)),
		draw: (fill, [pivot], other, asked) => {
			const found = fill.pairs.find(({ pair }) => pair.includes(pivot) && pair.includes(other));
			const side = found?.pair.indexOf(pivot);
			const chance = found?.probability[side] ?? null;
			if (chance === null) return uniform(asked[other].outputs);
			return asCodes(byClass(found.classes[side], found.classes[1 - side], chance), asked[other]);
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
		draw: (fill, branch, other) =>
			conditional(fill.tables.find(table => table.other === other && `${table.pivots}` === `${branch}`).rows),
	},
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

function buildPart({ attributes, pivots, decoys = 0, channels, fill }, sizes, budget) {
	const count = attributes.length;
	if (channels.length !== count || pivots + decoys > count || comb(count, pivots) > MOST_BRANCHES || !fill !== !decoys)
		refuse("parts");
	const asked = channels.map((own, place) => CHANNELS[own.kind].channel(budget, sizes[attributes[place]], own));
	const branches = combinations([...asked.keys()], pivots);
	const { suits = () => true } = FILLS[fill?.kind] ?? {};
	if (!suits(fill, asked, branches)) refuse("fill");
	return { attributes, asked, branches, decoys, fill };
}

/** So many of the places, in order. */
function choose(places, count, source) {
	const left = [...places];
	if (count === left.length) return left;
	const chosen = Array.from({ length: count }, () => left.splice(uniform(left.length)(0, source), 1)[0]);
	return chosen.sort((one, two) => one - two);
}

/** Write one sub-report into `report`; what it does not show stays null. */
function drawPart({ attributes, asked, branches, decoys, fill }, codes, report, source) {
	const branch = branches[uniform(branches.length)(0, source)];
	const shown = choose(others(asked, branch), decoys, source);
	let given = 0;
	for (const own of branch) {
		const code = asked[own].draw(codes[attributes[own]], source);
		report[attributes[own]] = code;
		given = given * asked[own].outputs + code;
	}
	for (const other of shown)
		report[attributes[other]] = FILLS[fill.kind].draw(fill, branch, other, asked)(given, source);
}

// Questions asked together: a report is one number, which says the set and the code of its labels

function buildTogether({ channels, size = 2, sets, single = 0 }, sizes, budget) {
	const places = [...sizes.keys()];
	if (size > sizes.length || (!sets && comb(sizes.length, size) > MOST_CODES / 2 ** size)) refuse("sets");
	const labels = set => set.reduce((count, place) => count * sizes[place], 1);
	const joint = sets ?? combinations(places, size);
	const all = single ? [...joint, ...places.map(place => [place])] : joint;
	const inOrder = set => set.every((place, at) => place < sizes.length && !(set[at - 1] >= place));
	const fit = joint.every(set => set.length === size && inOrder(set) && labels(set) <= MAX_LABELS);
	if (!fit || new Set(joint.map(String)).size < joint.length || new Set(all.flat()).size < sizes.length) refuse("sets");
	const numbers = [...new Set(all.map(labels))].sort((one, two) => one - two);
	if (channels.length !== numbers.length || single === 1) refuse("together");
	const built = numbers.map((count, at) => CHANNELS[channels[at].kind].channel(budget, count, channels[at]));
	let end = 0;
	const asked = all.map(set => {
		const channel = built[numbers.indexOf(labels(set))];
		end += channel.outputs;
		return { set, channel, start: end - channel.outputs };
	});
	if (end > MOST_CODES) refuse("together");
	return { asked, joint: joint.length, single: BigInt(single * UNIT), sizes };
}

function drawTogether({ asked, joint, single, sizes }, codes, source) {
	const alone = single && source() >> 32n < single;
	const place = uniform(alone ? asked.length - joint : joint)(0, source);
	const { set, channel, start } = asked[alone ? joint + place : place];
	return start + channel.draw(set.reduce((label, own) => label * sizes[own] + codes[own], 0), source);
}

// Plans and reports

const DIGEST = text(/^[0-9a-f]{64}$/);
const LEARNING = ["rs-rfd", "corr-rr", "cond-rr"]; // mechanisms with phases that are learned
const hasPriors = ({ mechanism, learned, parts = [] }) =>
	mechanism === "rs-rfd" && !learned && parts.some(part => part.fill?.kind === "row");
const learns = plan => LEARNING.includes(plan.mechanism) && !hasPriors(plan);
const unread = value => Object(value) === value; // where a plan came from is hashed, and changes no draw
const PLAN = {
	format: oneOf("privtally.plan/1"),
	digest: DIGEST,
	schema: { attributes: [attribute], "alignments?": unread },
	epsilon: number(1e-6, 32),
	mechanism: oneOf("spl", "smp", "rs-fd", "pairs", ...LEARNING),
	phase: integer(1, 1_000),
	answers: integer(1, 1_000),
	"parts?": [{ attributes: [integer()], pivots: integer(1), channels: [tagged(CHANNELS)], "decoys?": integer(1), "fill?": tagged(FILLS) }],
	"together?": { channels: [tagged(CHANNELS)], "size?": oneOf(3), "sets?": [[integer()]], "single?": probability },
	"decoys?": integer(),
	"round?": integer(2, 1_000),
	"nonce?": text(/^[0-9a-f]{32}$/),
	"campaign?": DIGEST,
	"groups?": unread,
	"learned?": unread,
};

function checkWhole(plan) {
	const { schema, mechanism, phase, parts = [], together, decoys, round, nonce, campaign, learned } = plan;
	const names = schema.attributes.map(own => own.name);
	if (new Set(names).size < names.length) refuse("schema");
	const later = phase > 1;
	if (!nonce === !later || !campaign === later || !(learned || round) === later || round > phase) refuse("phase");
	if (decoys !== undefined && !learns(plan)) refuse("decoys");
	const wanted = part => Math.min(decoys ?? Infinity, part.attributes.length - part.pivots);
	if (learned && parts.some(part => (part.decoys ?? 0) !== wanted(part))) refuse("decoys");
	if ((mechanism === "pairs") !== !!together || (together && (parts.length || learned))) refuse("together");
	if (together) return;
	const stated = parts.flatMap(part => part.attributes).sort((one, two) => one - two);
	if (`${stated}` !== `${[...names.keys()]}`) refuse("parts");
}

/**
 * Read a plan strictly. The result has its fields, `campaignId`, and as `sampler` the parts with channels (`asked`), or
 * as `jointly` the sets that are asked together.
 * @param {string} text
 * @returns {Promise<object>}
 */
export async function loadPlan(text) {
	const plan = parse(text);
	check(PLAN, plan, "plan");
	const { digest: claimed, ...content } = plan;
	if (claimed !== (await digest(content)))
		throw new PlanError("the plan was edited: its content does not match its digest");
	checkWhole(plan);
	const sizes = plan.schema.attributes.map(own => own.labels.length);
	const { parts = [], together } = plan;
	const sampler = parts.map(part => buildPart(part, sizes, fraction(plan.epsilon, parts.length * part.pivots)));
	const jointly = together && buildTogether(together, sizes, fraction(plan.epsilon, 1));
	return Object.freeze({ ...plan, campaignId: plan.campaign ?? claimed, sampler, jointly });
}

/**
 * Refuse a plan that breaks the contract of a pinned campaign, its first plan; the refusal names the part.
 * @param {string} pinned the digest of the first plan
 * @param {object} plan the one to answer
 */
export function checkCampaign(pinned, first, plan) {
	const { learned, phase, round = 1 } = plan;
	const alike = name => canonical(plan[name]) === canonical(first[name]);
	const kept = {
		first: first.phase === 1 && first.digest === pinned,
		campaign: plan.campaignId === pinned,
		schema: alike("schema"),
		epsilon: alike("epsilon"),
		mechanism: alike("mechanism"),
		answers: alike("answers"),
		decoys: alike("decoys"),
		learned: !learned || learns(first),
		round: round <= phase - (learned ? 1 : 0),
		parts: learned || alike("parts"),
		together: alike("together"),
	};
	const broken = Object.keys(kept).find(part => !kept[part]);
	if (broken) throw new CampaignError(`the plan breaks '${broken}' of the pinned campaign; do not answer`);
}

/**
 * A private report, one line of JSON. Draw once and keep it: a second one gives away more than the plan's epsilon.
 * @param {object} answers as for `encode`
 * @param {(count: number) => Uint8Array} [randomBytes]
 * @returns {string}
 */
export function privatise(plan, answers, randomBytes = systemBytes) {
	const source = sourceOf(randomBytes);
	const codes = encode(plan.schema, answers, randomBytes);
	const id = hex(exactly(16, randomBytes));
	const report = plan.jointly ? [drawTogether(plan.jointly, codes, source)] : Array(codes.length).fill(null);
	for (const part of plan.sampler) drawPart(part, codes, report, source);
	return JSON.stringify({ format: "privtally.report/1", plan: plan.digest, id, codes: report });
}
