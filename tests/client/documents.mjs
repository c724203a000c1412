/**
 * node documents.mjs DOCUMENTS: whether the client takes each of a list of plan documents, as JSON.
 */
import { readFileSync } from "node:fs";
import { PlanError, loadPlan } from "../../src/privtally/client/privtally.js";

const takes = [];
for (const document of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
	const plan = await loadPlan(document).catch((error) => {
		if (!(error instanceof PlanError)) throw error;
	});
	takes.push(plan !== undefined);
}
console.log(JSON.stringify(takes));
