"use strict";
// Shows the nodes of one run: a list with the lines of the tree, and the details of one node or of two. Texts go into the page as
// text; displays alone are HTML, which has been made harmless before.

const page = JSON.parse(document.getElementById("data").textContent);
const nodes = page.nodes;
const ROW = 30; // pixels, as in the style sheet
const TRACK = 14;
const TRACKS = 10; // that are drawn; further ones share the last
const BEYOND = 8; // rows drawn above and below what is seen

const GROUPS = {
  everything: () => true,
  "went wrong": (node) => badness(node) === "bad" || badness(node) === "warn",
  refused: (node) => node.outcome === "rejected" || node.outcome === "violation" || (node.refusals || []).length > 0,
  steps: (node) => node.kind === "step" || node.kind === "query",
  "checkpoints and ways back": (node) => ["checkpoint", "rollback", "branch"].includes(node.kind),
  "tool calls": (node) => (node.calls || []).length > 0,
  kept: (node) => !node.undone,
  undone: (node) => Boolean(node.undone),
};

function badness(node) {
  if (!node.outcome) return "quiet";
  if (["ok", "committed"].includes(node.outcome)) return "ok";
  return ["rejected", "violation", "rolled back", "undone", "no better"].includes(node.outcome) ? "warn" : "bad";
}

function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === undefined) continue;
    if (name === "on") for (const [event, call] of Object.entries(value)) made.addEventListener(event, call);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

function drawn(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// The lines of the tree: which chains pass through a row

const trackOf = new Array(nodes.length).fill(0);
const passing = nodes.map(() => []);
{
  const chainOf = new Map();
  page.chains.forEach((chain) => chainOf.set(chain[2], chain));
  const lastChild = new Map();
  nodes.forEach((node, row) => lastChild.set(parentOf(node), row));
  nodes.forEach((node, row) => {
    const parent = parentOf(node);
    const chain = chainOf.get(row);
    trackOf[row] = chain ? Math.min(chain[0], TRACKS - 1) : trackOf[parent];
  });
  page.chains.forEach(([track, start, first, end]) => {
    const chain = { column: trackOf[first], origin: start < first ? trackOf[start] : -1, first, end };
    if (track < TRACKS) for (let row = first; row <= end; row += 1) passing[row].push(chain);
  });
}
const width = (Math.max(0, ...trackOf) + 1) * TRACK + 8;

function parentOf(node) {
  return node.parent === undefined ? -1 : node.parent;
}

function lines(row) {
  const picture = drawn("svg", { width, height: ROW, "aria-hidden": "true" });
  const x = (track) => track * TRACK + TRACK / 2 + 2;
  const half = ROW / 2;
  const line = (path) => picture.append(drawn("path", { d: path, fill: "none", stroke: "currentColor", "stroke-opacity": ".45", "stroke-width": "1.5" }));
  for (const { column, origin, first, end } of passing[row]) {
    if (row === first && origin >= 0) line(`M ${x(origin)} 0 C ${x(origin)} ${half} ${x(origin)} ${half} ${x(column)} ${half}`);
    line(`M ${x(column)} ${row > first ? 0 : half} V ${row < end ? ROW : half}`);
  }
  const node = nodes[row];
  const dot = { cx: x(trackOf[row]), cy: half, r: node.kind === "step" || node.kind === "query" ? 4.5 : 3, class: badness(node), fill: node.undone ? "var(--back)" : "currentColor", stroke: "currentColor", "stroke-width": "1.5" };
  picture.append(drawn("circle", dot));
  return picture;
}

// The list: only the rows that are seen are in the document

let shown = nodes.map((_, row) => row);
let chosen = -1;
let pinned = -1;

const room = make("div", { class: "room", role: "presentation" });
const list = make("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": "What happened, in order", on: { scroll: draw, keydown: key } }, room);
const details = make("section", { class: "details", "aria-label": "Details", tabindex: "-1" });
const main = make("main", {}, list, details);
const count = make("span", { class: "count", role: "status" });
const search = make("input", { type: "search", placeholder: "Find in code, output and errors", "aria-label": "Find", on: { input: filter, keydown: searchKey } });
const group = make("select", { "aria-label": "Show", on: { change: filter } }, ...Object.keys(GROUPS).map((name) => make("option", {}, name)));
const compare = make("button", { type: "button", title: "c", on: { click: pin } }, "Compare");

function rowOf(place) {
  const row = shown[place];
  const node = nodes[row];
  const code = node.kind === "step" || node.kind === "query";
  const marks = [...(node.labels || [])];
  if (node.score !== undefined && node.score !== null) marks.push(`score ${round(node.score)}`);
  if ((node.displays || []).length) marks.push(node.displays.length > 1 ? `${node.displays.length} displays` : "1 display");
  if ((node.calls || []).length) marks.push(node.calls.length > 1 ? `${node.calls.length} calls` : "1 call");
  const outcome = node.outcome && node.outcome !== "ok" ? make("span", { class: `mark ${badness(node)}` }, node.outcome) : null;
  return make(
    "div",
    {
      id: `row${row}`, role: "option", class: `row${code ? " code" : ""}${node.undone ? " undone" : ""}${row === pinned ? " pinned" : ""}`,
      style: `top: ${place * ROW}px`, "aria-selected": String(row === chosen), "aria-posinset": place + 1, "aria-setsize": shown.length,
      "aria-label": `${where(node)}: ${node.title || node.kind}${node.outcome ? `, ${node.outcome}` : ""}${node.undone ? ", undone" : ""}`,
      on: { click: () => choose(row, true) },
    },
    lines(row),
    make("span", { class: "number", title: code ? `session ${node.session || 1}, step ${node.step || 0}` : false }, code ? where(node) : ""),
    make("span", { class: "name" }, node.title || node.kind),
    ...marks.slice(0, 3).map((text) => make("span", { class: "mark quiet" }, text)),
    outcome,
  );
}

function where(node) {
  const session = node.session === undefined ? 1 : node.session;
  const step = node.step || 0;
  return session === 1 ? `${step}` : `${session}.${step}`;
}

function draw() {
  room.style.height = `${shown.length * ROW}px`;
  const from = Math.max(0, Math.floor(list.scrollTop / ROW) - BEYOND);
  const to = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + BEYOND);
  const rows = [];
  for (let place = from; place < to; place += 1) rows.push(rowOf(place));
  room.replaceChildren(...rows);
  if (chosen >= 0) list.setAttribute("aria-activedescendant", `row${chosen}`);
}

function filter() {
  const wanted = search.value.toLowerCase();
  const belongs = GROUPS[group.value];
  shown = [];
  nodes.forEach((node, row) => {
    if (belongs(node) && (!wanted || textOf(row).includes(wanted))) shown.push(row);
  });
  tally();
  list.scrollTop = 0;
  draw();
}

function tally() {
  const of = shown.length === nodes.length ? "" : `${shown.length} of `;
  count.textContent = pinned >= 0 ? `comparing with ${where(nodes[pinned])}: choose another row` : `${of}${nodes.length} rows`;
}

const texts = [];
function textOf(row) {
  if (texts[row] === undefined) {
    const node = nodes[row];
    const error = node.error ? `${node.error.type} ${node.error.message} ${node.error.hint || ""}` : "";
    texts[row] = [node.title, node.source, node.stdout, node.stderr, node.value, node.text, error, node.outcome, ...(node.labels || [])].join("\n").toLowerCase();
  }
  return texts[row];
}

function choose(row, reading) {
  chosen = row;
  const place = shown.indexOf(row);
  if (place >= 0) {
    const top = place * ROW;
    if (reading === null) list.scrollTop = top - list.clientHeight / 2;
    else if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  }
  draw();
  tell();
  if (reading !== null) history.replaceState(null, "", `#${row}`);
  if (reading) main.classList.add("reading");
}

function key(event) {
  const page_ = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page_, PageUp: -page_, Home: -shown.length, End: shown.length };
  if (event.key in moves && shown.length) {
    const place = Math.min(shown.length - 1, Math.max(0, shown.indexOf(chosen) + moves[event.key]));
    choose(shown[place], false);
  } else if (event.key === "Enter") {
    main.classList.add("reading");
    details.focus();
  } else if (event.key === "c") pin();
  else return;
  event.preventDefault();
}

function searchKey(event) {
  if (event.key === "Enter" || event.key === "ArrowDown") {
    list.focus();
    if (shown.length) choose(shown[0], false);
    event.preventDefault();
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) {
    search.focus();
    event.preventDefault();
  } else if (event.key === "Escape") {
    main.classList.remove("reading");
    list.focus();
  }
});

// States: what was bound, and since which node

function line(row) {
  const states = [];
  for (let at = row; at >= 0; at = parentOf(nodes[at])) states.push(at);
  return states.reverse();
}

function variables(row) {
  const bound = new Map();
  for (const at of line(row)) {
    const node = nodes[at];
    if (node.state && node.state !== "kept") continue;
    for (const name of [...(node.created || []), ...(node.changed || [])]) bound.set(name, { text: Object.hasOwn(node.described || {}, name) ? node.described[name] : "", at });
    for (const name of node.deleted || []) bound.delete(name);
  }
  return bound;
}

// Details

function section(title, ...children) {
  return [make("h3", {}, title), ...children];
}

function block(title, text, kind) {
  return text ? section(title, make("pre", { class: kind || "", tabindex: "0" }, text)) : [];
}

function table(heads, rows) {
  return make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell))))));
}

function source(node) {
  if (!node.source) return [];
  const at = node.error && node.error.line;
  const code = make("pre", { class: "source", tabindex: "0" }, ...node.source.split("\n").map((text, index) => make("span", { class: index + 1 === at ? "at" : false }, text)));
  return section(node.kind === "query" ? "SQL" : "Code", code);
}

function problem(error) {
  const caret = error.traceback || [error.source_line, error.column >= 1 && error.column <= 1000 ? " ".repeat(error.column - 1) + "^" : ""].filter(Boolean).join("\n");
  const head = `${error.line ? `line ${error.line}: ` : ""}${error.type}${error.message ? `: ${error.message}` : ""}`;
  return [
    make("p", { class: "bad" }, head),
    caret ? make("pre", { tabindex: "0" }, caret) : null,
    error.rule ? make("p", {}, `Rule: ${error.rule}`) : null,
    error.hint ? make("p", { class: "advice" }, error.hint) : null,
  ].filter(Boolean);
}

function displays(node) {
  return (node.displays || []).map((markup) => {
    const place = make("div", { class: "display" });
    place.innerHTML = markup; // escaped, plain tables, pictures or frames without scripts: safeexec.results.mimebundle
    return place;
  });
}

function jump(row) {
  return make("button", { type: "button", on: { click: () => choose(row, true) } }, where(nodes[row]));
}

function bound(row) {
  const known = [...variables(row).entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  if (!known.length) return [];
  const node = nodes[row];
  const touched = new Set([...(node.created || []), ...(node.changed || [])]);
  const rows = known.map(([name, { text, at }]) => [touched.has(name) ? make("b", {}, name) : name, text, at === row ? "this one" : jump(at)]);
  return section(`Variables afterwards (${known.length})`, table(["name", "value", "last changed by"], rows));
}

function facts(node) {
  const parts = [];
  if (node.outcome) parts.push(node.outcome);
  if (node.ms) parts.push(`${round(node.ms)} ms`);
  if (node.cpu_ms) parts.push(`${round(node.cpu_ms)} ms of CPU`);
  if (node.peak_mb) parts.push(`${round(node.peak_mb)} MB`);
  if (node.score !== undefined && node.score !== null) parts.push(`score ${round(node.score)}`);
  if (node.state && node.state !== "kept") parts.push(`state: ${node.state}`);
  if (node.undone) parts.push("undone");
  return make("p", { class: badness(node) }, parts.join(" · "));
}

function told(row) {
  const node = nodes[row];
  const errors = (node.refusals || []).length ? node.refusals : node.error ? [node.error] : [];
  const calls = (node.calls || []).map((call) => [call.tool, call.arguments || "", call.answer || "", call.outcome, `${round(call.ms || 0)} ms`]);
  const shownThere = displays(node);
  return [
    make("h2", {}, node.kind === "step" || node.kind === "query" ? `${where(node)} · ${node.title}` : node.title || node.kind),
    facts(node),
    ...source(node),
    ...(errors.length ? section(errors.length > 1 ? `${errors.length} refusals` : "What went wrong", ...errors.flatMap(problem)) : []),
    ...block("Printed", node.stdout),
    ...block("On standard error", node.stderr),
    ...(shownThere.length ? section("Shown", ...shownThere) : []),
    ...block("Value", node.value),
    ...block(node.kind === "step" ? "What the model was told" : "Words", node.text),
    ...(calls.length ? section("Calls of host tools", table(["tool", "arguments", "answer", "outcome", "time"], calls)) : []),
    ...((node.files || []).length ? section("Files", make("p", {}, node.files.join(", "))) : []),
    ...((node.notes || []).length ? section("Notes", ...node.notes.map((note) => make("p", {}, note))) : []),
    ...bound(row),
  ];
}

function tell() {
  const back = make("button", { class: "back", type: "button", on: { click: () => { main.classList.remove("reading"); list.focus(); } } }, "← all steps");
  if (chosen < 0) details.replaceChildren(back, make("p", { class: "quiet" }, "There is nothing to show."));
  else if (pinned >= 0 && pinned !== chosen) details.replaceChildren(back, ...compared(pinned, chosen));
  else details.replaceChildren(back, ...told(chosen));
  details.append(make("p", { class: "keys quiet" }, "Keys: ↑ ↓ to move, / to find, c to compare two rows, Esc to go back."));
  details.scrollTop = 0;
  compare.textContent = pinned >= 0 ? "Stop comparing" : "Compare";
  compare.disabled = pinned < 0 && chosen < 0;
}

function pin() {
  pinned = pinned >= 0 ? -1 : chosen;
  draw();
  tell();
  tally();
}

function compared(one, other) {
  const left = line(one);
  const right = line(other);
  let common = 0;
  while (common < left.length && common < right.length && left[common] === right[common]) common += 1;
  const before = variables(one);
  const after = variables(other);
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  const cell = (known, name) => (known.has(name) ? known.get(name).text || "bound" : "–");
  const different = names.filter((name) => cell(before, name) !== cell(after, name) || (before.get(name) || {}).at !== (after.get(name) || {}).at);
  const way = (rows, row) =>
    make("div", {}, make("h3", {}, `To ${where(nodes[row])}`), facts(nodes[row]), ...rows.slice(common).flatMap((at) => (nodes[at].source ? [make("p", {}, jump(at)), make("pre", { tabindex: "0" }, nodes[at].source)] : [make("p", {}, jump(at), ` ${nodes[at].title || nodes[at].kind}`)])));
  return [
    make("h2", {}, `${where(nodes[one])} beside ${where(nodes[other])}`),
    make("p", {}, common ? `They share everything up to ${where(nodes[left[common - 1]])} · ${nodes[left[common - 1]].title || nodes[left[common - 1]].kind}.` : "They share nothing."),
    ...(different.length ? section("Variables that differ", table(["name", where(nodes[one]), where(nodes[other])], different.map((name) => [name, cell(before, name), cell(after, name)]))) : section("Variables that differ", make("p", {}, "None."))),
    make("div", { class: "pair" }, way(left, one), way(right, other)),
  ];
}

function round(number) {
  return Math.abs(number) >= 100 ? Math.round(number) : Number(number.toPrecision(3));
}

const gone = nodes.filter((node) => node.undone).length;
const outcomes = new Map();
nodes.forEach((node) => node.outcome && outcomes.set(node.outcome, (outcomes.get(node.outcome) || 0) + 1));
document.body.append(
  make(
    "header",
    {},
    make("h1", {}, page.title),
    make("div", { class: "facts" }, ...page.facts.map(([name, text]) => make("span", {}, `${name}: ${text}`)), ...[...outcomes].map(([outcome, times]) => make("span", { class: badness({ outcome }) }, `${times} ${outcome}`)), gone > 0 && make("span", {}, `○ ${gone} undone`)),
    make("div", { class: "tools" }, search, group, compare, count),
  ),
  main,
);
new ResizeObserver(draw).observe(list);
filter();
tell();

// A link to a row: run.html#12. Else what is best, or came last.
const linked = Number.parseInt(location.hash.slice(1), 10);
const best = nodes.findIndex((node) => (node.labels || []).includes("best"));
const last = nodes.findLastIndex((node) => node.kind === "step" || node.kind === "query" || (node.kind === "end" && node.text));
if (linked >= 0 && linked < nodes.length) choose(linked, true);
else if (nodes.length) choose(best >= 0 ? best : Math.max(0, last), null);
