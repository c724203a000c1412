/**
 * node campaigns.mjs PLANS: for [pinned, first, plan] the part of the pinned contract that the plan breaks, null if it
 * keeps all of it, or that it is not a plan, as JSON.
 */
import { readFileSync } from "node:fs";
import { CampaignError, PlanError, checkCampaign, loadPlan } from "../../src/privtally/client/privtally.js";

async function broken([pinned, first, plan]) {
	try {
		checkCampaign(pinned, await loadPlan(first), await loadPlan(plan));
		return null;
	} catch (error) {
		if (error instanceof PlanError) return "not a plan";
		if (error instanceof CampaignError) return error.message.match(/'(\w+)'/)[1];
		throw error;
	}
}

const found = [];
for (const documents of JSON.parse(readFileSync(process.argv[2], "utf8"))) found.push(await broken(documents));
console.log(JSON.stringify(found));
