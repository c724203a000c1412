/**
 * Reports of this device: each is kept before it is sent, and sent byte for byte until somebody has answered for it.
 * Answers are never kept.
 */

const WAITS = [1, 2, 4, 8, 16, 32]; // seconds between attempts to send

/**
 * What this device remembers of a campaign: the reports that were drawn here with the digests of their plans, and what
 * became of those that arrived.
 */
export class Reports {
	/** @param {string} campaign its id @param {string | null} token that lets somebody take part */
	constructor(campaign, token) {
		this.key = `privtally:${campaign}`;
		this.resource = `/v1/campaigns/${campaign}`;
		this.token = token;
	}

	/** Whether this device can keep a report: without that, somebody might answer twice. */
	get lasting() {
		try {
			localStorage.setItem(`${this.key}:try`, "");
			localStorage.removeItem(`${this.key}:try`);
			return true;
		} catch {
			return false;
		}
	}

	get all() {
		return JSON.parse(localStorage.getItem(this.key) ?? "[]");
	}

	/** The report that was drawn last. */
	get last() {
		return this.all.at(-1);
	}

	/** Whether somebody may answer a plan: once a round, and not more rounds than the campaign allows. */
	mayAnswer(plan) {
		const before = this.all.some(entry => entry.plan === plan.digest || entry.round === roundOf(plan));
		return this.all.length < plan.answers && !before;
	}

	/** Draw a report to a plan and keep it; null if there is one already, perhaps of the same page in another tab. */
	async draw(plan, privatise) {
		return navigator.locks.request(this.key, () => {
			if (!this.mayAnswer(plan)) return null;
			const entry = { plan: plan.digest, round: roundOf(plan), report: privatise(), token: this.token };
			this.#keep(entry);
			return entry;
		});
	}

	#keep(entry) {
		const others = this.all.filter(other => other.report !== entry.report);
		localStorage.setItem(this.key, JSON.stringify([...others, entry]));
	}

	/** A document of the campaign, or a refusal with its name. Only the plan to answer depends on a token. */
	async read(path, token = null) {
		const response = await fetch(this.resource + path, { headers: tokenHeader(token), cache: "no-store" }).catch(() => null);
		if (response?.ok) return response.text();
		throw new Refusal((await response?.json().catch(() => null))?.type);
	}

	/**
	 * Send a report that is kept until there is an answer, and say which: "arrived" or the name of a refusal.
	 * @param {(name: string) => void} tell hears "sending" and "unavailable"
	 * @param {(seconds: number) => Promise<void>} pause before it is sent again
	 */
	async deliver(entry, tell, pause) {
		for (let attempt = 0; ; attempt += 1) {
			tell("sending");
			const outcome = await this.#send(entry);
			if (outcome !== "unavailable") {
				const { token, ...kept } = entry;
				this.#keep({ ...kept, outcome });
				return outcome;
			}
			tell("unavailable");
			await pause(WAITS[Math.min(attempt, WAITS.length - 1)]);
		}
	}

	/** What became of a report; whatever is not an answer of the service itself ends nothing. */
	async #send({ report, token }) {
		const headers = { "content-type": "application/json", ...tokenHeader(token) };
		const request = { method: "POST", headers, body: report };
		const response = await fetch(`${this.resource}/reports`, request).catch(() => null);
		const answer = await response?.json().catch(() => null);
		if (response?.status === 200 && (answer?.accepted === 1 || answer?.repeated === 1)) return "arrived";
		const reason = response?.status === 200 ? answer?.refused?.[0]?.reason : refusalOf(response, answer);
		return reason ? named(reason) : "unavailable";
	}
}

/** A refusal; its message is its name. */
export class Refusal extends Error {
	constructor(type) {
		super(named(type ?? "unavailable"));
	}
}

/** The type of a refusal that the service gave, and that trying again would not change. */
const refusalOf = (response, answer) => response?.status < 500 && `${answer?.type}`.startsWith("urn:privtally:") && answer.type;
const roundOf = plan => plan.round ?? 1;
const named = type => `${type}`.replace("urn:privtally:", "").replaceAll("_", "-");
const tokenHeader = token => (token ? { "privtally-token": token } : {});
