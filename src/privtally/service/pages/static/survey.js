/**
 * The survey page: answers become a private report on this device. The report is drawn once, kept, sent, and sent again
 * byte for byte until it has arrived. Answers are never kept and never sent.
 */

import { checkCampaign, encode, loadPlan, privatise } from "/client/privtally.js";

const MOST_SHOWN = 200; // of a long list's answers
const WAITS = [1, 2, 4, 8, 16, 32]; // seconds between attempts to send

const main = document.getElementById("main");
const form = document.getElementById("form");
const cards = [...form.querySelectorAll(".question")];
const campaign = main.dataset.campaign;
const resource = `/v1/campaigns/${campaign}`;
const key = `privtally:${campaign}`;
const token = location.hash.slice(1) || null;

/** Show one message and hide all others. */
function tell(name) {
	const messages = [...document.querySelectorAll("#messages > *")];
	const known = name === null || messages.some(message => message.id === `say-${name}`);
	for (const message of messages) message.hidden = message.id !== `say-${known ? name : "refused"}`;
	document.getElementById("again").hidden = name !== "unavailable";
}

/** A refusal with the name of the message that explains it. */
class Refusal extends Error {}

// What this device remembers: the reports that were drawn here, and whether each of them has arrived

const remembered = () => JSON.parse(localStorage.getItem(key) ?? "[]");

function remember(entry) {
	const others = remembered().filter(other => other.report !== entry.report);
	localStorage.setItem(key, JSON.stringify([...others, entry]));
}

// The plan

const headers = (own = token) => (own ? { "privtally-token": own } : {});

async function fetched(path) {
	let response;
	try {
		response = await fetch(resource + path, { headers: headers(), cache: "no-store" });
	} catch {
		throw new Refusal("unavailable");
	}
	if (response.ok) return response.text();
	const problem = await response.json().catch(() => ({}));
	throw new Refusal(`${problem.type}`.replace("urn:privtally:", ""));
}

/** The plan to answer, if it belongs to the campaign of the link, is published, and asks what the page shows. */
async function readPlan() {
	const published = JSON.parse(await fetched("/plans"));
	const [first, plan] = [await loadPlan(JSON.stringify(published[0])), await loadPlan(await fetched("/plan"))];
	checkCampaign(campaign, first, plan);
	if (!published.some(other => other.digest === plan.digest) || !cards.every((card, place) => shows(card, plan, place)))
		throw new Refusal("wrong-plan");
	return plan;
}

/** Whether a card shows the question at a place of the plan, in the plan's words. */
function shows(card, plan, place) {
	const attribute = plan.schema.attributes[place];
	const said = [...card.querySelectorAll(".choice:not(.not-said) span")].map(span => span.textContent);
	const named = card.querySelector("legend").textContent === attribute.name;
	return named && (card.dataset.kind !== "few" || said.join("\n") === answersOf(attribute).join("\n"));
}

const answersOf = ({ labels, optional }) => (optional ? labels.slice(0, -1) : labels);

// The answers

/** Let somebody search a long list of answers. */
function fillList(card, labels) {
	const [search, list] = [card.querySelector("[type=search]"), card.querySelector("select")];
	const show = () => {
		const wanted = search.value.trim().toLowerCase();
		const found = labels.filter(label => label.toLowerCase().includes(wanted));
		list.replaceChildren(...found.slice(0, MOST_SHOWN).map(label => new Option(label)));
		card.querySelector(".found").textContent = found.length.toLocaleString(document.documentElement.lang);
	};
	search.addEventListener("input", show);
	show();
}

/** The answer to a question: a label, the text of a number, or null if it was left out. */
function answerOf(card, attribute) {
	if (card.querySelector(".not-said :checked")) return null;
	switch (card.dataset.kind) {
		case "few":
			return attribute.labels[card.querySelector(":checked")?.value] ?? "";
		case "many":
			return card.querySelector("select").value;
		default: {
			const text = card.querySelector("input").value;
			return document.documentElement.lang === "de" ? text.replace(",", ".") : text;
		}
	}
}

function fits(attribute, answer) {
	if (answer === "") return false; // somebody who would rather not say says so
	try {
		encode({ attributes: [attribute] }, { [attribute.name]: answer });
		return true;
	} catch {
		return false;
	}
}

/** All answers by name; null if some are missing or wrong, which the cards then say. */
function answersOfAll(plan) {
	const answers = {};
	const wrong = cards.filter((card, place) => {
		const attribute = plan.schema.attributes[place];
		const answer = (answers[attribute.name] = answerOf(card, attribute));
		const right = fits(attribute, answer);
		card.querySelector(".fault").hidden = right;
		return !right;
	});
	wrong[0]?.querySelector("input").focus();
	return wrong.length ? null : answers;
}

// Sending

/** Send the identical bytes; the name of what became of the report. */
async function send({ report, token: own }) {
	let response;
	try {
		const sent = { "content-type": "application/json", ...headers(own) };
		response = await fetch(`${resource}/reports`, { method: "POST", headers: sent, body: report });
	} catch {
		return "unavailable";
	}
	if (response.status >= 500 || response.status === 429) return "unavailable";
	const receipt = await response.json().catch(() => ({}));
	if (receipt.accepted || receipt.repeated) return "arrived";
	return `${receipt.refused?.[0]?.reason ?? receipt.type}`.replace("urn:privtally:", "").replaceAll("_", "-");
}

const pause = seconds =>
	new Promise(resolve => {
		const button = document.querySelector("#again button");
		const timer = setTimeout(resolve, 1000 * seconds);
		button.addEventListener("click", () => resolve(clearTimeout(timer)), { once: true });
	});

/** Send a report that is kept already until somebody has answered for it. Whatever the answer, none is drawn again. */
async function deliver(entry) {
	for (let attempt = 0; ; attempt += 1) {
		tell("sending");
		const outcome = await send(entry);
		if (outcome !== "unavailable") {
			remember({ plan: entry.plan, report: entry.report, outcome });
			return outcome;
		}
		tell("unavailable");
		await pause(WAITS[Math.min(attempt, WAITS.length - 1)]);
	}
}

// What was sent

function define(list, pairs) {
	const lines = pairs.flatMap(([name, value]) => {
		const [term, definition] = [document.createElement("dt"), document.createElement("dd")];
		[term.textContent, definition.textContent] = [name, value];
		return [term, definition];
	});
	list.replaceChildren(...lines);
}

const word = name => document.getElementById(`word-${name}`).textContent;

/** A report in words. */
function inWords(plan, report) {
	return JSON.parse(report).codes.map((code, place) => {
		const { name, labels, optional } = plan.schema.attributes[place];
		const part = plan.sampler.find(own => own.attributes.includes(place));
		const channel = part.asked[part.attributes.indexOf(place)];
		if (code === null) return [name, word("not-asked")];
		if (channel.outputs !== channel.inputs) return [name, word("code").replace("#", code)];
		return [name, optional && code === labels.length - 1 ? word("not-said") : labels[code]];
	});
}

function showDone(plan, entry, answers) {
	tell(null);
	form.remove();
	document.querySelector(".promise details").open = false;
	const done = document.getElementById("done");
	document.getElementById("report-id").textContent = JSON.parse(entry.report).id;
	const mine = document.getElementById("answered");
	if (answers) define(mine.querySelector("dl"), Object.entries(answers).map(([name, own]) => [name, own ?? word("not-said")]));
	else mine.remove();
	if (plan.digest === entry.plan) define(document.querySelector("#received dl"), inWords(plan, entry.report));
	else document.getElementById("received").remove();
	done.hidden = false;
	if (answers) done.querySelector("h2").focus();
}

/** Draw at most once, even if the page is open twice. */
async function answer(plan, answers) {
	const entry = await navigator.locks.request(key, () => {
		if (remembered().some(other => other.plan === plan.digest)) return null;
		const drawn = { plan: plan.digest, report: privatise(plan, answers), token };
		remember(drawn);
		return drawn;
	});
	if (!entry) return tell("answered");
	const outcome = await deliver(entry);
	if (outcome === "arrived") showDone(plan, entry, answers);
	else tell(outcome);
}

function ask(plan) {
	cards.forEach((card, place) => {
		if (card.dataset.kind === "many") fillList(card, answersOf(plan.schema.attributes[place]));
	});
	form.addEventListener("submit", event => {
		event.preventDefault();
		const answers = answersOfAll(plan);
		if (!answers) return;
		form.hidden = true;
		answer(plan, answers).catch(fail);
	});
	form.hidden = false;
}

function fail(fault) {
	const name = fault instanceof Refusal ? fault.message : "wrong-plan";
	tell(name);
	if (name === "unavailable") document.querySelector("#again button").addEventListener("click", () => location.reload());
}

/** Whether this device can keep a report: without that, somebody might answer twice. */
function canRemember() {
	try {
		localStorage.setItem(`${key}:try`, "");
		localStorage.removeItem(`${key}:try`);
		return true;
	} catch {
		return false;
	}
}

async function start() {
	if (!globalThis.isSecureContext) return tell("insecure");
	if (!canRemember()) return tell("forgetful");
	tell("loading");
	const pending = remembered().find(entry => !entry.outcome);
	if (pending) await deliver(pending);
	const last = remembered().at(-1);
	const plan = await readPlan().catch(fault => {
		if (last?.outcome !== "arrived") throw fault;
	});
	if (!plan) return tell("answered");
	tell(null);
	const again = remembered().length < plan.answers && remembered().every(entry => entry.plan !== plan.digest);
	if (again) ask(plan);
	else if (last.outcome === "arrived") showDone(plan, last, null);
	else tell(last.outcome);
}

start().catch(fail);
