/** The survey page: answers become a private report on this device, which is drawn once. */

import { checkCampaign, encode, loadPlan, privatise, PrivtallyError } from "/client/privtally.js";
import { Refusal, Reports } from "/static/reports.js";

const MOST_SHOWN = 200; // of a long list's answers

const main = document.getElementById("main");
const form = document.getElementById("form");
const cards = [...form.querySelectorAll(".question")];
const campaign = main.dataset.campaign;
const reports = new Reports(campaign, location.hash.slice(1) || null);

/** Show one message and hide all others. */
function tell(name) {
	const messages = [...document.querySelectorAll("#messages > *")];
	const known = name === null || messages.some(message => message.id === `say-${name}`);
	for (const message of messages) message.hidden = message.id !== `say-${known ? name : "refused"}`;
	document.getElementById("again").hidden = !["unavailable", "unreachable"].includes(name);
}

// The plan

/** The plan to answer, if it belongs to the campaign of the link, is published, and asks what the page shows. */
async function readPlan(published) {
	const first = await loadPlan(JSON.stringify(published[0]));
	const plan = await loadPlan(await reports.read("/plan", reports.token));
	checkCampaign(campaign, first, plan);
	const known = published.some(other => other.digest === plan.digest);
	const shown = cards.length === plan.schema.attributes.length && cards.every((card, place) => shows(card, plan, place));
	if (!known || !shown) throw new Refusal("wrong-plan");
	document.getElementById("digest").textContent = plan.digest;
	return plan;
}

/** Whether a card shows the question at a place of the plan, in the plan's words. */
function shows(card, plan, place) {
	const attribute = plan.schema.attributes[place];
	const said = [...card.querySelectorAll(".choice:not(.not-said) span")].map(span => span.textContent);
	const named = card.querySelector("legend").textContent === attribute.name;
	return named && (card.dataset.kind !== "few" || said.join("\n") === choicesOf(attribute).join("\n"));
}

/** The answers that people choose from: the labels, or what they stand for. */
const choicesOf = ({ labels, merged, optional }) => merged?.flat() ?? (optional ? labels.slice(0, -1) : labels);

// The answers

/** Let somebody search a long list of answers. */
function fillList(card, choices) {
	const [search, list] = [card.querySelector("[type=search]"), card.querySelector("select")];
	const show = () => {
		const wanted = search.value.trim().toLowerCase();
		const found = choices.filter(choice => choice.toLowerCase().includes(wanted));
		list.replaceChildren(...found.slice(0, MOST_SHOWN).map(choice => new Option(choice, choice)));
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
			return choicesOf(attribute)[card.querySelector(":checked")?.value] ?? "";
		case "many":
			return card.querySelector("select").value;
		default:
			return numberText(card.querySelector("input").value);
	}
}

/** The text of a number with a decimal point; none for thousands set apart, which in the other language are decimals. */
function numberText(text) {
	const thousands = word("decimal") === "." ? /^\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*$/ : /^\s*[+-]?[1-9]\d{0,2}(\.\d{3})+\s*$/;
	return thousands.test(text) ? "" : text.replace(",", ".");
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
	const answers = Object.create(null); // a question may be named __proto__
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

/** For each question the code of a report, null if it was not asked, and the channel that the code came from. */
function codesOf({ sampler, jointly }, codes) {
	if (!jointly)
		return codes.map((code, place) => {
			const part = sampler.find(own => own.attributes.includes(place));
			return [code, part.asked[part.attributes.indexOf(place)]];
		});
	const { set, channel, start } = jointly.asked.filter(own => own.start <= codes[0]).at(-1);
	let rest = codes[0] - start;
	const found = jointly.sizes.map(() => [null, channel]);
	for (const place of [...set].reverse()) {
		const size = jointly.sizes[place];
		found[place] = [channel.outputs === channel.inputs ? rest % size : codes[0] - start, channel];
		rest = Math.floor(rest / size);
	}
	return found;
}

/** A report in words. */
function inWords(plan, report) {
	return codesOf(plan, JSON.parse(report).codes).map(([code, channel], place) => {
		const { name, labels, optional, bins } = plan.schema.attributes[place];
		if (code === null) return [name, word("not-asked")];
		if (channel.outputs !== channel.inputs) return [name, word("code").replace("#", code)];
		if (optional && code === labels.length - 1) return [name, word("not-said")];
		return [name, bins ? labels[code].replace(" to ", ` ${word("to")} `).replaceAll(".", word("decimal")) : labels[code]];
	});
}

/** Show a report to a plan that arrived, beside the answers if they are still known. */
function showDone(plan, entry, answers) {
	tell(null);
	form.remove();
	document.querySelector(".promise details").open = false;
	const done = document.getElementById("done");
	document.getElementById("report-id").textContent = JSON.parse(entry.report).id;
	const mine = document.getElementById("answered");
	if (answers) define(mine.querySelector("dl"), Object.entries(answers).map(([name, own]) => [name, own ?? word("not-said")]));
	else mine.remove();
	define(document.querySelector("#received dl"), inWords(plan, entry.report));
	done.hidden = false;
	if (answers) done.querySelector("h2").focus();
}

/** Wait, or until somebody wants to try again. */
const pause = seconds =>
	new Promise(resolve => {
		const timer = setTimeout(resolve, 1000 * seconds);
		const button = document.querySelector("#again button");
		button.addEventListener("click", () => resolve(clearTimeout(timer)), { once: true });
	});

async function answer(plan, answers) {
	const entry = await reports.draw(plan, () => privatise(plan, answers));
	const outcome = entry ? await reports.deliver(entry, tell, pause) : "answered";
	if (outcome === "arrived") showDone(plan, entry, answers);
	else tell(outcome);
}

function ask(plan) {
	cards.forEach((card, place) => {
		if (card.dataset.kind === "many") fillList(card, choicesOf(plan.schema.attributes[place]));
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

/** Say why nothing can be asked. */
function fail(fault) {
	const name = fault instanceof Refusal ? fault.message : fault instanceof PrivtallyError ? "wrong-plan" : "unreachable";
	tell(name !== "unavailable" && document.getElementById(`say-${name}`) ? name : "unreachable");
	document.querySelector("#again button").addEventListener("click", () => location.reload());
}

async function start() {
	if (!globalThis.isSecureContext) return tell("insecure");
	if (!reports.lasting) return tell("forgetful");
	tell("loading");
	const pending = reports.all.find(entry => !entry.outcome);
	if (pending) await reports.deliver(pending, tell, pause);
	const { last } = reports;
	const unlessAnswered = fault => {
		if (last?.outcome !== "arrived") throw fault;
	};
	const published = (await reports.read("/plans").then(JSON.parse).catch(unlessAnswered)) ?? [];
	const plan = await readPlan(published).catch(unlessAnswered);
	tell(null);
	if (plan && reports.mayAnswer(plan)) return ask(plan);
	if (last.outcome !== "arrived") return tell(last.outcome);
	const answered = published.find(own => own.digest === last.plan);
	if (answered) showDone(await loadPlan(JSON.stringify(answered)), last, null);
	else tell("answered");
}

start().catch(fail);
