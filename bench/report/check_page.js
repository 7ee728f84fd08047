/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Put at the head of a copy of a page: what a reader would find missing is listed, a
 * line each, in an element "check" that check_page.sh reads out of the browser.
 */
"use strict";

const faults = [];

addEventListener("error", (event) => {
	const what = event.target.src || event.target.href || event.message;
	faults.push(`error: ${what}`);
}, true);
for (const level of ["error", "warn"])
	console[level] = (...words) => faults.push(`console: ${words.join(" ")}`);

function name_of(table)
{
	return table.caption ? table.caption.textContent : "a table without a caption";
}

function check_images()
{
	for (const image of document.images) {
		if (!image.complete || image.naturalWidth === 0)
			faults.push(`broken picture: ${image.getAttribute("src")}`);
		if (!image.alt)
			faults.push(`picture without words: ${image.getAttribute("src")}`);
	}
}

/* A cell may say that there is nothing, where it leads to the reason or the table is followed by it. */
function has_reason(cell)
{
	const link = cell.querySelector("a");
	const after = cell.closest(".wide").nextElementSibling;

	if (link)
		return document.querySelector(link.getAttribute("href"))?.textContent.trim();
	return after && (after.classList.contains("why") ||
			 after.nextElementSibling?.classList.contains("why"));
}

function check_table(table)
{
	const columns = table.tHead.rows[0].cells.length;

	if (!table.caption || table.tBodies[0].rows.length === 0)
		faults.push(`empty table: ${name_of(table)}`);
	for (const row of table.tBodies[0].rows) {
		if (row.cells.length !== columns)
			faults.push(`row of ${row.cells.length} cells: ${name_of(table)}`);
		for (const cell of row.cells) {
			const text = cell.textContent.trim();
			const empty = /^[-\u2013\u2014]*$/.test(text);

			if (empty || (cell.classList.contains("none") && !has_reason(cell)))
				faults.push(`cell without a reason: ${name_of(table)}: ` +
					    row.textContent.slice(0, 60));
			if (/NaN|Infinity|undefined|None|\binf\b|\bnan\b/.test(text))
				faults.push(`no figure: ${name_of(table)}: ${text}`);
		}
	}
}

function check_width()
{
	const page = document.documentElement;

	for (const details of document.querySelectorAll("details"))
		details.open = true;
	if (page.scrollWidth > page.clientWidth)
		faults.push(`wider than the window: ${page.scrollWidth} > ${page.clientWidth}`);
}

addEventListener("load", () => {
	const result = document.createElement("pre");

	check_images();
	document.querySelectorAll("table").forEach(check_table);
	if (document.querySelectorAll("table").length === 0)
		faults.push("no table at all");
	check_width();
	result.id = "check";
	result.textContent = [...faults, `checked: ${document.images.length} pictures, ` +
		`${document.querySelectorAll("table").length} tables, ${faults.length} faults`].join("\n");
	document.body.append(result);
});
