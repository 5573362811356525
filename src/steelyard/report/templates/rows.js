// The data of the page, one row per sample, and the names of record states.

const DATA = await dataOfPage();
if (DATA === null) return;
// The counts of all samples if the page has only some of them; null if it has all.
const ALL = DATA.all ?? null;
const { head: HEAD, samples: SAMPLES, runs: RUNS, words: WORDS } = DATA;
const STATES = ["scored", "not_applicable", "unparsed", "refused", "error", "missing"];
const SIGNS = { right: "✓", wrong: "✗", scored: "•", not_applicable: "–", unparsed: "?", refused: "⊘", error: "⚠", missing: "–" };
const STATE_NAMES = {
  right: HEAD.right, wrong: HEAD.wrong, scored: "scored", not_applicable: "not applicable", unparsed: "unreadable",
  refused: "refused", error: "error", missing: "no score",
};

// A scored record is right or wrong only if its scorer decided so; otherwise it has just a value.
function stateOf(run, record) {
  const state = STATES[run.state[record]];
  if (state !== "scored" || run.passed[record] < 0 || run.sides) return state;
  return run.passed[record] ? "right" : "wrong";
}

// A value of the page's score as in tables: percent if it is a share.
function valueText(value) {
  if (value === null) return "";
  return HEAD.share ? `${(100 * value).toFixed(1)} %` : String(value);
}

function rowsOf() {
  const rows = SAMPLES.id.map((id, index) => ({ index, records: RUNS.map(() => []), changes: RUNS.map(() => 0), searchText: null }));
  RUNS.forEach((run, number) => {
    run.sample.forEach((index, record) => rows[index].records[number].push(record));
    run.changes.forEach(([index, change]) => { rows[index].changes[number] = change; });
  });
  return rows;
}

const ROWS = rowsOf();

// The text that a search matches, in lower case; built when a row is first searched.
function searchTextOf(row) {
  if (row.searchText === null) {
    const { index } = row;
    const texts = [SAMPLES.id[index], SAMPLES.input[index], WORDS[SAMPLES.group[index]], WORDS[SAMPLES.reference[index]], ...SAMPLES.choices[index]];
    row.records.forEach((records, number) => records.forEach((record) => texts.push(RUNS[number].output[record], ...pairTexts(RUNS[number], record))));
    row.searchText = texts.join("\n").toLowerCase();
  }
  return row.searchText;
}

// Bits of the masks of `ALL.profiles` by filter.
const BITS = { wrong: 1, right: 2, unparsed: 4, refused: 8, errors: 16, improvements: 32, regressions: 64, changed: 96 };

// How many of all samples match a filter, a group and a target.
function countAll({ show, group, target }) {
  const meets = (mask) => show === "all" || (mask & BITS[show]) > 0;
  const matching = ALL.profiles.filter(([word, masks]) => {
    const named = !group || WORDS[word] === group;
    return named && (target === "" ? masks.some(meets) : meets(masks[Number(target)]));
  });
  return matching.reduce((sum, [, , count]) => sum + count, 0);
}

// Whether a choice can be counted without the samples: texts and other scores cannot.
function isCountable({ show, text, failed }) {
  return !text && !failed && (show === "all" || show in BITS);
}

// Each filter: its title, and whether a row matches it for one run.
const FILTERS = {
  all: ["All", () => true],
  wrong: [capitalised(HEAD.wrong), (row, number) => has(row, number, "wrong")],
  right: [capitalised(HEAD.right), (row, number) => has(row, number, "right")],
  unparsed: ["Unreadable", (row, number) => has(row, number, "unparsed")],
  refused: ["Refused", (row, number) => has(row, number, "refused")],
  errors: ["Errors", (row, number) => row.records[number].some((record) => RUNS[number].failure[record])],
  changed: ["Changed", (row, number) => row.changes[number] > 0],
  improvements: ["Better", (row, number) => row.changes[number] === 1],
  regressions: ["Worse", (row, number) => row.changes[number] === 2],
  both_right: [`Both ${HEAD.right}`, (row, number) => isBoth(row, number, "right")],
  both_wrong: [`Both ${HEAD.wrong}`, (row, number) => isBoth(row, number, "wrong", ...HEAD.as_wrong)],
};
// Only for links from the comparison, not for chips, of which there would be too many.
const LINKED_ONLY = new Set(["both_right", "both_wrong"]);

// Whether the baseline and another run have one of these states on a sample that did not change.
function isBoth(row, number, ...states) {
  return number > 0 && row.changes[number] === 0 && [0, number].every((run) => states.some((state) => has(row, run, state)));
}

function has(row, number, state) {
  return row.records[number].some((record) => stateOf(RUNS[number], record) === state);
}

function keeps(row, choice) {
  if (choice.group && WORDS[SAMPLES.group[row.index]] !== choice.group) return false;
  const numbers = choice.target === "" ? RUNS.map((_, number) => number) : [Number(choice.target)];
  if (!numbers.some((number) => FILTERS[choice.show][1](row, number))) return false;
  if (choice.failed && !numbers.some((number) => hasFailed(row, number, choice.failed))) return false;
  return !choice.text || searchTextOf(row).includes(choice.text.toLowerCase());
}

function valueOf(row, number) {
  const values = row.records[number].map((record) => RUNS[number].value[record]).filter((value) => value !== null);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : -1;
}

function sorted(rows, order) {
  if (!order.by) return rows;
  const key = {
    id: (row) => SAMPLES.id[row.index],
    group: (row) => WORDS[SAMPLES.group[row.index]],
  }[order.by] ?? ((row) => valueOf(row, Number(order.by)));
  const sign = order.down ? -1 : 1;
  return [...rows].sort((left, right) => {
    const [first, second] = [key(left), key(right)];
    return sign * (first < second ? -1 : first > second ? 1 : 0) || left.index - right.index;
  });
}
