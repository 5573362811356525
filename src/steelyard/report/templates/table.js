// The table of samples: controls, pages of rows, and the address, which stores the choices.

const PAGE = 25;
const CHANGES = ["", "improvement", "regression"];
const choice = { show: "all", text: "", group: "", target: "", failed: "", open: "" };
const order = { by: "", down: false };
const view = { page: 0, rows: ROWS };
const root = document.getElementById("browser");
const body = element("tbody");
const status = element("p", { role: "status", class: "quiet" });
const pages = element("nav", { class: "pages", "aria-label": "Pages of samples" });
const chips = element("div", { class: "chips", role: "group", "aria-label": "Show" });
// A letter is a key and needs little space; a query or a sentence needs more.
const LONG = SAMPLES.reference.some((word) => String(WORDS[word] ?? "").length > 8);
const EXPECTED = LONG ? "Expected" : "Key";
const HEADS = [["id", "Sample", "id"], ["group", "Group", "group"], ["", "Question", "question"], ["", EXPECTED, LONG ? "key long" : "key"]];
const GROUPED = SAMPLES.group.some((group) => group);
// Pairs are often judged without a reference; an empty column would take space from the answers.
const KEYED = SAMPLES.reference.some((word) => WORDS[word]);

function columnsOf() {
  const columns = HEADS.filter(([, name]) => (name !== "Group" || GROUPED) && (name !== EXPECTED || KEYED));
  return [...columns, ...RUNS.map((run, number) => [String(number), run.name, "target"])];
}

const COLUMNS = columnsOf();
// Runs whose cells show the verdict of the page's score.
const SCORED = new Set(HEAD.score ? RUNS.filter((run) => !run.sides && !run.answers).map((run) => run.name) : []);
const grid = element("table", { class: "data samples" });
const around = element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table of samples" }, grid);
// Many targets make the table wider than the page; it then scrolls, and the question keeps its width.
const DENSE = RUNS.length > 3;
grid.classList.toggle("dense", DENSE);
grid.style.setProperty("--least", `${(LONG ? 39 : 29) - (DENSE ? 9 : 0) + (DENSE ? 7 : 9) * RUNS.length}rem`);

function headRow() {
  const cells = COLUMNS.map(([key, name, kind]) => {
    if (!key) return element("th", { scope: "col", class: kind }, name);
    const button = element("button", { type: "button", title: `Sort by ${plainly(name)}` }, shown(name));
    button.addEventListener("click", () => {
      order.down = order.by === key ? !order.down : false;
      order.by = key;
      apply();
    });
    const score = kind === "target" && SCORED.has(name) ? element("div", { class: "quiet" }, HEAD.title) : null;
    return element("th", { scope: "col", class: kind, "data-key": key }, button, score);
  });
  return element("thead", {}, element("tr", {}, ...cells));
}

function labelled(name, control, kind) {
  return element("label", { class: kind }, name, control);
}

function controls() {
  const search = element("input", { type: "search", id: "search", placeholder: "text of question, option or reply", autocomplete: "off" });
  search.addEventListener("input", debounced(() => choose({ text: search.value }), 120));
  const parts = [labelled("Search (press /)", search, "search")];
  const groups = [...new Set(ALL ? ALL.profiles.map(([word]) => word) : SAMPLES.group)].map((word) => WORDS[word]).filter((name) => name);
  if (groups.length) parts.push(labelled("Group", selection("group", [["", "all groups"], ...groups.map((name) => [name, name])])));
  if (RUNS.length > 1) {
    const targets = RUNS.map((run, number) => [String(number), run.name]);
    parts.push(labelled("Target", selection("target", [["", "any target"], ...targets])));
  }
  const failing = failingScores();
  if (failing.length) {
    const named = failing.map((name) => [name, name]);
    parts.push(labelled("Failed", selection("failed", [["", "all samples"], ["*", "failed any score"], ...named])));
  }
  return element("div", { class: "controls" }, ...parts);
}

function selection(key, entries) {
  const control = element("select", { id: key }, ...entries.map(([value, name]) => element("option", { value }, plainly(shortened(name, 60)))));
  control.addEventListener("change", () => choose({ [key]: control.value }));
  return control;
}

// The count of all samples if it is known, else of those on this page.
function countOf(chosen) {
  if (ALL && isCountable(chosen)) return { n: countAll(chosen), what: "" };
  return { n: ROWS.filter((row) => keeps(row, chosen)).length, what: ALL ? " on this page" : "" };
}

// Chips without samples are left out.
function drawChips() {
  const counts = Object.keys(FILTERS).map((show) => [show, countOf({ ...choice, show, text: "" })]);
  const offered = counts.filter(([show, { n }]) => show === "all" || show === choice.show || (n > 0 && !LINKED_ONLY.has(show)));
  const focused = chips.contains(document.activeElement) ? document.activeElement.dataset.show : null;
  chips.replaceChildren(...offered.map(([show, { n, what }]) => {
    const button = element("button", { type: "button", "data-show": show, "aria-pressed": String(choice.show === show) }, `${FILTERS[show][0]} ${n.toLocaleString("en")}${what}`);
    button.addEventListener("click", () => choose({ show }));
    return button;
  }));
  if (focused) chips.querySelector(`[data-show="${focused}"]`)?.focus();
}

function cellOf(run, row, number) {
  const records = row.records[number];
  if (!records.length) return element("span", { class: "quiet" }, "not asked");
  const states = records.map((record) => stateOf(run, record));
  const [record] = records;
  if (run.answers) return answeredOf(run, records);
  if (run.sides) return element("span", { class: "preferred" }, ...records.map((repeat) => element("div", {}, preferredOf(run, repeat))));
  if (records.length > 1) return repeatsOf(run, records, states);
  const verdict = states[0] === "right" || states[0] === "wrong" || states[0] === "scored" ? WORDS[run.kind[record]] ?? "" : "";
  const value = isPlainVerdict(run, record) ? "" : valueText(run.value[record]);
  // A value without a verdict needs no word: "scored" would add nothing.
  const mark = verdict ? namedMark(states[0], verdict) : states[0] === "scored" && value ? SIGNS.scored : stateMark(states[0]);
  const read = [WORDS[run.read[record]], value].filter((text) => text).join(", ");
  // Without letters or a named verdict, the cell shows the start of the answer.
  const begin = WORDS[run.read[record]] || verdict ? null : element("div", { class: "clamp text quiet" }, shown(shortened(run.output[record], 120)));
  return element("div", {}, mark, read ? " " : "", element("span", { class: "value" }, shown(read)), begin);
}

// Several repeats: how many are right, or their mean; the sign is right or wrong only if all agree.
function repeatsOf(run, records, states) {
  const right = states.filter((state) => state === "right").length;
  if (!right && !states.includes("wrong")) {
    const values = records.map((record) => run.value[record]).filter((value) => value !== null);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const text = values.length ? `mean ${HEAD.share ? valueText(mean) : mean.toFixed(2)} of ${values.length}` : STATE_NAMES[states[0]];
    return element("span", { class: "state" }, `${SIGNS.scored} ${text}`);
  }
  const kind = right === states.length ? "right" : right ? "scored" : "wrong";
  return element("span", { class: `state ${kind}` }, `${SIGNS[kind]} ${right} of ${states.length} ${HEAD.right}`);
}

function drawRow(row) {
  const { index } = row;
  const opener = element("button", { type: "button", class: "open", "aria-expanded": "false" }, shown(SAMPLES.id[index]));
  const line = element("tr", { "data-sample": index }, element("th", { scope: "row" }, opener));
  if (GROUPED) line.append(cell("Group", shown(WORDS[SAMPLES.group[index]])));
  line.append(cell("Question", element("span", { class: "clamp text" }, shown(shortened(SAMPLES.input[index], 200))), "question"));
  if (KEYED) line.append(cell(EXPECTED, shown(shortened(WORDS[SAMPLES.reference[index]], LONG ? 90 : 24))));
  RUNS.forEach((run, number) => line.append(cell(run.name, element("div", {}, cellOf(run, row, number), changeOf(row.changes[number])))));
  opener.addEventListener("click", () => toggle(row, line, opener));
  return line;
}

function cell(name, content, kind = null) {
  return element("td", { "data-name": plainly(name), class: kind }, content);
}

function changeOf(change) {
  return change ? element("div", { class: `change ${CHANGES[change]}` }, element("span", { "aria-hidden": "true" }, change === 1 ? "▲ " : "▼ "), change === 1 ? "better" : "worse") : null;
}

function toggle(row, line, opener) {
  const open = opener.getAttribute("aria-expanded") === "true";
  opener.setAttribute("aria-expanded", String(!open));
  if (open) line.nextElementSibling.remove();
  else line.after(element("tr", { class: "detail" }, element("td", { colspan: COLUMNS.length }, detailOf(row))));
  choice.open = open ? "" : SAMPLES.id[row.index];
  writeAddress();
}

// How many samples of this choice are not on the page.
function aboutAll() {
  const [rows, page, total] = [view.rows.length, ROWS.length, ALL.total].map((n) => n.toLocaleString("en"));
  if (!isCountable(choice)) return `among the ${page} samples on this page, of ${total} in total`;
  const n = countAll(choice);
  return n === view.rows.length ? `all ${rows} of ${total} samples` : `shown ${rows} of ${n.toLocaleString("en")}, drawn with seed ${ALL.seed}`;
}

function sayShown(first, n) {
  const range = n ? `${first + 1} to ${first + n} of ${view.rows.length}` : "none";
  status.textContent = `Samples shown: ${range} (${ALL ? aboutAll() : `${ROWS.length} in all`})`;
}

// Paper has no pages to turn to: it gets the rows before and after this page's too, and what is open stays open.
let onPaper = [];

function addRowsForPaper() {
  const first = view.page * PAGE;
  const before = view.rows.slice(0, first).map(drawRow);
  const after = view.rows.slice(first + PAGE).map(drawRow);
  onPaper = [...before, ...after];
  body.prepend(...before);
  body.append(...after);
  sayShown(0, view.rows.length);
}

function removeRowsForPaper() {
  for (const line of onPaper) line.remove();
  const first = view.page * PAGE;
  sayShown(first, Math.min(PAGE, view.rows.length - first));
}

function drawPage() {
  const first = view.page * PAGE;
  const part = view.rows.slice(first, first + PAGE);
  body.replaceChildren(...part.map(drawRow));
  sayShown(first, part.length);
  const last = Math.max(0, Math.ceil(view.rows.length / PAGE) - 1);
  const turn = (name, by, off) => {
    const button = element("button", { type: "button", disabled: off }, name);
    button.addEventListener("click", () => {
      view.page += by;
      drawPage();
      grid.scrollIntoView({ block: "start" });
      body.querySelector("button")?.focus();
    });
    return button;
  };
  pages.replaceChildren(turn("Previous", -1, view.page === 0), element("span", {}, `Page ${view.page + 1} of ${last + 1}`), turn("Next", 1, view.page >= last));
}

function apply() {
  view.rows = sorted(ROWS.filter((row) => keeps(row, choice)), order);
  view.page = 0;
  for (const head of grid.querySelectorAll("th[data-key]")) {
    if (head.dataset.key === order.by) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  drawChips();
  drawPage();
}

function choose(change) {
  Object.assign(choice, change, { open: "" });
  writeAddress();
  apply();
}

function writeAddress() {
  const chosen = Object.entries(choice).filter(([key, value]) => value && !(key === "show" && value === "all"));
  history.replaceState(null, "", chosen.length ? `#${new URLSearchParams(chosen)}` : location.pathname + location.search);
}

// Open the sample of the address on its page of the table.
function openSample(id) {
  const at = view.rows.findIndex((row) => SAMPLES.id[row.index] === id);
  if (at < 0) {
    if (ALL && !SAMPLES.id.includes(id)) status.textContent += `. ${plainly(id)} is not among them; the command show lists every sample.`;
    return;
  }
  view.page = Math.floor(at / PAGE);
  drawPage();
  const opener = body.querySelectorAll(".open")[at % PAGE];
  opener.click();
  opener.scrollIntoView({ block: "start" });
}

// The choices of the address that this page has.
function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  Object.assign(choice, { show: "all", group: "", target: "", failed: "", open: "" });
  if (Object.hasOwn(FILTERS, address.get("show") ?? "")) choice.show = address.get("show");
  choice.text = address.get("text") ?? "";
  for (const key of ["group", "target", "failed"]) {
    const control = document.getElementById(key);
    if (control && [...control.options].some((option) => option.value === address.get(key))) choice[key] = address.get(key);
    if (control) control.value = choice[key];
  }
  document.getElementById("search").value = choice.text;
  return address.get("open");
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("search").focus();
  }
  if (event.key !== "j" && event.key !== "k") return;
  const openers = [...body.querySelectorAll(".open")];
  const at = openers.indexOf(document.activeElement?.closest("tr")?.querySelector(".open"));
  openers[Math.min(openers.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)))]?.focus();
}

grid.append(element("caption", {}, "Open a sample for its options, reply and reading. Keys: / search, j and k move, Enter opens."), headRow(), body);
root.append(controls(), chips, status, around, pages);
root.hidden = false;
const sampleToOpen = readAddress();
apply();
if (sampleToOpen) openSample(sampleToOpen);
else if (location.hash.includes("=")) document.getElementById("samples").scrollIntoView();
// A link from a count changes the table; a link to a section has no "=" and does not.
window.addEventListener("hashchange", () => {
  if (!location.hash.includes("=")) return;
  const opened = readAddress();
  apply();
  document.getElementById("samples").scrollIntoView();
  if (opened) openSample(opened);
});
document.addEventListener("keydown", keys);
window.addEventListener("beforeprint", addRowsForPaper);
window.addEventListener("afterprint", removeRowsForPaper);
