// The data of the page, one row per sample, and what a record's state is called.

const DATA = JSON.parse(document.getElementById("data").textContent);
const { head: HEAD, samples: SAMPLES, runs: RUNS, words: WORDS } = DATA;
const STATES = ["scored", "not_applicable", "unparsed", "refused", "error", "missing"];
const SIGNS = { right: "✓", wrong: "✗", scored: "•", not_applicable: "–", unparsed: "?", refused: "⊘", error: "⚠", missing: "–" };
const SAID = {
  right: "right", wrong: "wrong", scored: "scored", not_applicable: "not applicable", unparsed: "unparsed",
  refused: "refused", error: "error", missing: "no score",
};

function stateOf(run, record) {
  const state = STATES[run.state[record]];
  if (state !== "scored" || !HEAD.share || run.sides) return state;
  return run.value[record] >= 0.5 ? "right" : "wrong";
}

function rowsOf() {
  const rows = SAMPLES.id.map((id, place) => ({ place, records: RUNS.map(() => []), flips: RUNS.map(() => 0), found: null }));
  RUNS.forEach((run, number) => {
    run.sample.forEach((place, record) => rows[place].records[number].push(record));
    run.flips.forEach(([place, way]) => { rows[place].flips[number] = way; });
  });
  return rows;
}

const ROWS = rowsOf();

// What a search looks at, in lower case; made when a row is first searched.
function searched(row) {
  if (row.found === null) {
    const { place } = row;
    const texts = [SAMPLES.id[place], SAMPLES.input[place], WORDS[SAMPLES.group[place]], WORDS[SAMPLES.reference[place]], ...SAMPLES.choices[place]];
    row.records.forEach((records, number) => records.forEach((record) => texts.push(RUNS[number].output[record], ...pairTexts(RUNS[number], record))));
    row.found = texts.join("\n").toLowerCase();
  }
  return row.found;
}

// Each filter: what it is called, and whether a row has it for one of the runs in question.
const FILTERS = {
  all: ["All", () => true],
  wrong: ["Wrong", (row, number) => has(row, number, "wrong")],
  right: ["Right", (row, number) => has(row, number, "right")],
  unparsed: ["Unparsed", (row, number) => has(row, number, "unparsed")],
  refused: ["Refused", (row, number) => has(row, number, "refused")],
  errors: ["Errors", (row, number) => row.records[number].some((record) => RUNS[number].failure[record])],
  flips: ["Changed", (row, number) => row.flips[number] > 0],
  fixed: ["Improvements", (row, number) => row.flips[number] === 1],
  broken: ["Regressions", (row, number) => row.flips[number] === 2],
};

function has(row, number, state) {
  return row.records[number].some((record) => stateOf(RUNS[number], record) === state);
}

function keeps(row, choice) {
  if (choice.group && WORDS[SAMPLES.group[row.place]] !== choice.group) return false;
  const numbers = choice.target === "" ? RUNS.map((_, number) => number) : [Number(choice.target)];
  if (!numbers.some((number) => FILTERS[choice.show][1](row, number))) return false;
  if (choice.failed && !numbers.some((number) => hasFailed(row, number, choice.failed))) return false;
  return !choice.text || searched(row).includes(choice.text.toLowerCase());
}

function valueOf(row, number) {
  const values = row.records[number].map((record) => RUNS[number].value[record]).filter((value) => value !== null);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : -1;
}

function sorted(rows, order) {
  if (!order.by) return rows;
  const key = {
    id: (row) => SAMPLES.id[row.place],
    group: (row) => WORDS[SAMPLES.group[row.place]],
  }[order.by] ?? ((row) => valueOf(row, Number(order.by)));
  const sign = order.down ? -1 : 1;
  return [...rows].sort((one, two) => {
    const [first, second] = [key(one), key(two)];
    return sign * (first < second ? -1 : first > second ? 1 : 0) || one.place - two.place;
  });
}
