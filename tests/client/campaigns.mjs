/**
 * node campaigns.mjs PLANS: whether the client takes each plan for one of the campaign of the first, as JSON.
 */
import { readFileSync } from "node:fs";
import { PrivtallyError, checkCampaign, loadPlan } from "../../src/privtally/client/privtally.js";

const [start, ...later] = JSON.parse(readFileSync(process.argv[2], "utf8"));
const first = await loadPlan(start);

async function follows(document) {
	try {
		checkCampaign(first.digest, first, await loadPlan(document));
		return true;
	} catch (error) {
		if (error instanceof PrivtallyError) return false;
		throw error;
	}
}

const found = [];
for (const document of later) found.push(await follows(document));
console.log(JSON.stringify(found));
