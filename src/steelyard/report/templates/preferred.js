// Judged pairs: the preferred side, both answers side by side, and the verdict of each order; all as text nodes.

const VERDICTS = { tie: "=", inconsistent: "≠" };

// The cell of a judging run: the preferred side, or why there is none.
function preferredOf(run, record) {
  const state = stateOf(run, record);
  const kind = WORDS[run.kind[record]] ?? "";
  if (state !== "scored") return element("span", {}, stateMark(state), kind ? " " : "", shown(kind));
  const sign = VERDICTS[kind] ?? "▸";
  return element("span", { class: "state" }, element("span", { "aria-hidden": "true" }, `${sign} `), shown(kind));
}

// The cell of a run that only answered: the start of the answer, or its failure.
function answeredOf(run, records) {
  return element("span", {}, ...records.map((record) => element("div", {}, run.failure[record] ? stateMark("error") : shown(shortened(run.output[record], 40)))));
}

// Whether the page already shows the answers of a judged pair, each in its own run.
function areShown(run) {
  return run.sides.every((side) => RUNS.some((other) => !other.sides && other.name === side));
}

function pairTexts(run, record) {
  const pair = run.pair?.[record] ?? [];
  return pair.slice(0, 2).map(([text]) => (text < 0 ? "" : WORDS[text]));
}

// A judged pair, opened: verdict, both answers, the orders.
function pairOf(run, number, record, row) {
  const repeats = run.repeat[record] ? ` · repeat ${run.repeat[record]}` : "";
  const reason = WORDS[run.reason[record]];
  const parts = [element("h3", {}, shown(run.name), repeats), element("p", {}, preferredOf(run, record), isLong(reason) ? "" : shown(reason ? ` ${reason}` : ""))];
  if (run.failure[record]) parts.push(...failureOf(run, record));
  const [first, second, orders, alike] = run.pair?.[record]?.length ? run.pair[record] : [null, null, [], 0];
  if (alike) parts.push(element("p", { class: "warning" }, "⚠ The two answers are identical or nearly so."));
  if (first && !areShown(run)) parts.push(element("div", { class: "answers" }, sideOf(run.sides[0], "A", first), sideOf(run.sides[1], "B", second)));
  if (isLong(reason)) parts.push(...reasoning(HEAD.score, reason));
  if (orders.length) parts.push(element("ul", { class: "orders", "aria-label": "Verdicts by order" }, ...orders.map((order) => orderOf(run, order))));
  parts.push(...judgedFacts(run, record, HEAD.score), ...factsOf(run, record));
  return element("section", { class: "answer whole", "aria-label": plainly(run.name) }, ...parts);
}

function sideOf(name, side, [text, failure, finish]) {
  const head = element("h3", {}, `${side}: `, shown(name));
  if (text < 0) return element("div", {}, head, element("p", { class: "state missing" }, "– no answer", shown(WORDS[failure] ? ` (${WORDS[failure]})` : "")));
  const box = element("pre", { class: "text", tabindex: 0, "aria-label": `Answer of ${plainly(name)}` }, WORDS[text] === "" ? "(empty)" : shown(WORDS[text]));
  const ended = WORDS[finish] ? element("p", { class: "quiet" }, shown(`ended by ${WORDS[finish]}`)) : null;
  return element("div", {}, head, box, ended);
}

function orderOf(run, [shownFirst, verdict, unparsed, reason]) {
  const [first, second] = shownFirst ? run.sides : [run.sides[1], run.sides[0]];
  const preferred = { A: run.sides[0], B: run.sides[1], tie: "a tie" }[WORDS[verdict]] ?? WORDS[verdict];
  const what = WORDS[unparsed] ? WORDS[unparsed] : preferred ? `prefers ${preferred}` : "no verdict";
  const line = element("span", {}, shown(`${first} shown first, ${second} second: `), element("strong", {}, shown(what)));
  return element("li", {}, line, WORDS[reason] ? element("div", { class: "text quiet" }, shown(WORDS[reason])) : null);
}

// A chip per verdict that a judging run gave.
function offerVerdicts() {
  for (const [number, run] of RUNS.entries()) {
    if (!run.sides) continue;
    for (const word of new Set(run.kind.filter((_, record) => stateOf(run, record) === "scored"))) {
      const kind = WORDS[word];
      const title = kind in VERDICTS ? kind[0].toUpperCase() + kind.slice(1) : `Prefers ${plainly(shortened(kind, 30))}`;
      FILTERS[`verdict ${word}`] = [title, (row, at) => RUNS[at].sides !== undefined && row.records[at].some((record) => RUNS[at].kind[record] === word && stateOf(RUNS[at], record) === "scored")];
    }
  }
}

offerVerdicts();
