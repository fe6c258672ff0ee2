"""What every report has: its style, its one script, and what is promised in plain words."""

from __future__ import annotations

PROMISED = (
    "Whoever reads these rows learns nearly the same as if any one of those named above had never "
    "been in the data: whatever they know already, and whatever they compute from the rows.",
    "All that the line above names is protected together, not one row at a time.",
    "The promise covers everything on this page, and it does not wear off.",
)
IN_ACCOUNT = (
    "Other releases from the same account add to what can be learned. Its ledger adds them up, and "
    "refuses what would go beyond its limit.",
)
NOT_PROMISED = (
    "That nothing can be learned about people: that smoking harms is learned with or without you.",
    "That every error bar holds the truth: about one in twenty does not, and more of them where a "
    "few users (robots, staff) are in very many groups.",
    "Anything about data that was published before, elsewhere, or from a table with other users.",
    "Anything about whoever can read the table itself, or the machine that it is on.",
    "That a user is a person: somebody with two ids is two users.",
)
STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8882}
body{margin:0;font:16px/1.5 system-ui,sans-serif}
main{max-width:60rem;margin:0 auto;padding:1rem}
h1{font-size:1.6rem;line-height:1.2;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2rem 0 .5rem}
h3{font-size:1rem;margin:1rem 0 .25rem}
img{max-width:100%;height:auto;background:#fff;border-radius:4px}
.wide{max-height:36rem;overflow:auto;border:1px solid var(--line);border-radius:4px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th{position:sticky;top:0;background:Canvas;text-align:left;border-bottom:1px solid var(--line)}
th button{all:unset;cursor:pointer;padding:.35rem .6rem;font-weight:600}
th button:focus-visible{outline:2px solid}
th[aria-sort=ascending] button::after{content:" \\2191"}
th[aria-sort=descending] button::after{content:" \\2193"}
td{padding:.2rem .6rem;border-bottom:1px solid var(--soft);overflow-wrap:anywhere}
td{white-space:pre-wrap}
th.number{text-align:right}
td.number{text-align:right;white-space:nowrap}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.5rem 0}
dt{opacity:.7}
dd{margin:0;overflow-wrap:anywhere}
@media(max-width:30rem){dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}}
@media print{.wide{max-height:none;overflow:visible}.find{display:none}}
"""
SCRIPT = """
"use strict";
const body = document.querySelector("tbody"), find = document.querySelector("input");
if (body) {
  const rows = Array.from(body.rows), heads = Array.from(document.querySelectorAll("th"));
  const key = (row, at) => row.cells[at].dataset.value ?? row.cells[at].textContent;
  const order = new Intl.Collator(undefined, {numeric: true}).compare;
  heads.forEach((head, at) => head.firstChild.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") === "descending";
    const isNumber = rows.every(row => row.cells[at].dataset.value !== undefined);
    const by = isNumber
      ? (a, b) => key(a, at) - key(b, at)
      : (a, b) => order(key(a, at), key(b, at));
    rows.sort((a, b) => up ? by(a, b) : by(b, a));
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...rows);
  }));
  const said = document.querySelector("output");
  find.addEventListener("input", () => {
    const text = find.value.toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(text);
      shown += !row.hidden;
    }
    said.textContent = text ? shown + " of " + rows.length + " rows" : "";
  });
}
"""
