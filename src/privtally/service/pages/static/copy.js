/** A button that copies the links of a page; without this script they can be marked and copied by hand. */

const [links, button, copied] = ["links", "copy", "copied"].map(id => document.getElementById(id));

/** Whether the links are on the clipboard; they are marked, so that a keyboard can copy them if not. */
async function copy() {
	links.select();
	try {
		await navigator.clipboard.writeText(links.value);
		return true;
	} catch {
		return document.execCommand("copy"); // where the page was not loaded over TLS
	}
}

button?.addEventListener("click", async () => {
	copied.hidden = !(await copy());
});
if (button) button.hidden = false;
