"use strict";
// Sorts, searches and shortens the tables of the page. Without this script the tables are complete, but cannot be sorted.
const SHOWN = 15; // rows of a table that is shortened; the style sheet hides the others
for (const listing of document.querySelectorAll(".listing")) {
  const body = listing.querySelector("tbody");
  const rows = Array.from(body.rows);
  const heads = Array.from(listing.querySelectorAll("th"));
  const search = listing.querySelector("input");
  const status = listing.querySelector("[role=status]");
  const all = listing.querySelector(".all");
  const compareTexts = new Intl.Collator("en", { numeric: true }).compare;

  const sortBy = (column) => {
    const head = heads[column];
    const numeric = head.classList.contains("n");
    const before = head.getAttribute("aria-sort");
    const descending = before ? before === "ascending" : numeric;
    const value = (row) => {
      const cell = row.cells[column];
      return numeric ? Number(cell.dataset.key) : cell.textContent;
    };
    const compare = numeric ? (a, b) => a - b : compareTexts;
    const sign = descending ? -1 : 1;
    const keyed = rows.map((row, at) => [value(row), at, row]);
    keyed.sort((a, b) => sign * compare(a[0], b[0]) || a[1] - b[1]);
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    body.append(...keyed.map((each) => each[2]));
  };

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    // A hidden row would count among the first ones, so a search is never shortened.
    listing.classList.toggle("short", !all.hidden && !words.length);
    status.textContent = words.length ? `${shown} of ${rows.length} rows match` : "";
  };

  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => sortBy(column)));
  search.hidden = false;
  all.hidden = rows.length <= SHOWN;
  listing.classList.toggle("short", !all.hidden);
  all.addEventListener("click", () => {
    all.hidden = true;
    listing.classList.remove("short");
  });
  search.addEventListener("input", filter);
}
