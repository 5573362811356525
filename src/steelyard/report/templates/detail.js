// The content of an opened row: question, options, and per target the reply with its parsed value and reason.

function detailOf(row) {
  const { index } = row;
  const parts = [element("p", { class: "text" }, shown(SAMPLES.input[index]))];
  if (SAMPLES.choices[index].length) parts.push(optionsOf(row));
  else if (SAMPLES.reference[index]) parts.push(fact("Reference", element("span", { class: "text" }, shown(WORDS[SAMPLES.reference[index]]))));
  if (SAMPLES.contexts[index].length) parts.push(passages("Passages given with the question", SAMPLES.contexts[index]));
  const sources = expectedSources(index);
  if (sources) parts.push(sources);
  if (SAMPLES.metadata[index]) parts.push(...aboutOf(WORDS[SAMPLES.metadata[index]]));
  const answers = RUNS.flatMap((run, number) => row.records[number].map((record) => answerOf(run, number, record, row)));
  parts.push(element("div", { class: "answers" }, ...answers));
  return element("div", {}, ...parts);
}

// Metadata of the sample; long values such as schemas keep their lines and are folded.
function aboutOf(metadata) {
  let values;
  try {
    values = JSON.parse(metadata);
  } catch {
    return [fact("About the sample", shown(metadata))]; // NaN is not JSON
  }
  const known = Object.entries(values).filter(([, value]) => value !== "" && value !== null);
  return known.map(([name, value]) => {
    const text = inWords(value);
    if (text.length <= 200 && !text.includes("\n")) return fact(name, shown(text));
    const whole = element("pre", { class: "text", tabindex: 0, "aria-label": plainly(name) }, shown(text));
    return element("details", {}, element("summary", {}, shown(name)), whole);
  });
}

// A value in words: yes or no, a list with commas; nested values stay JSON.
function inWords(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((item) => item === null || typeof item !== "object")) return value.map(inWords).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

// Metadata of a target or detail of a scorer, by name.
function storedOf(title, word) {
  let values;
  try {
    values = JSON.parse(WORDS[word]);
  } catch {
    return [fact(title, shown(WORDS[word]))];
  }
  if (values === null || typeof values !== "object" || Array.isArray(values)) return [fact(title, shown(inWords(values)))];
  const named = Object.entries(values).map(([name, value]) => `${name.replaceAll("_", " ")}: ${inWords(value)}`);
  return [fact(title, shown(named.join("; ")))];
}

function optionsOf(row) {
  const { index } = row;
  const keys = new Set(SAMPLES.key[index]);
  const entries = SAMPLES.choices[index].map((choice, option) => {
    const entry = element("li", { class: keys.has(option) ? "key" : null }, `${letter(option)}  `, shown(choice));
    if (keys.has(option)) entry.append(element("span", { class: "tag key" }, "✓ key"));
    RUNS.forEach((run, number) => {
      const readers = row.records[number].filter((record) => WORDS[run.read[record]].includes(letter(option)));
      if (readers.length) entry.append(element("span", { class: "tag" }, "read: ", shown(run.name)));
    });
    return entry;
  });
  const list = element("ul", { class: "options", "aria-label": "Options" }, ...entries);
  if (keys.size || !SAMPLES.reference[index]) return list;
  return element("div", {}, list, fact("Reference", shown(WORDS[SAMPLES.reference[index]])));
}

function failureOf(run, record) {
  const [stage, kind, message] = run.failure[record].map((word) => WORDS[word]);
  const head = kind === "damaged" ? "damaged in the store" : `${plainly(stage)} failed (${plainly(kind)})`;
  return [element("p", { class: "state error" }, `⚠ ${head}`), element("pre", { tabindex: 0, "aria-label": "Failure" }, shown(message))];
}

function answerOf(run, number, record, row) {
  if (run.sides) return pairOf(run, number, record, row);
  const state = stateOf(run, record);
  const repeats = run.repeat[record] ? ` · repeat ${run.repeat[record]}` : "";
  const value = isPlainVerdict(run, record) ? "" : ` ${valueText(run.value[record])}`;
  const reason = WORDS[run.reason[record]];
  const name = element("span", { class: "quiet" }, `${HEAD.title}: `);
  const line = run.answers ? null : element("p", {}, name, stateMark(state), value, isLong(reason) ? "" : shown(` ${reason}`));
  const parts = [element("h3", {}, shown(run.name), repeats), line, readingOf(run, record)];
  if (run.changed[record]) parts.push(element("p", { class: "warning" }, "⚠ This run had another version of this sample."));
  if (run.failure[record]) parts.push(...failureOf(run, record));
  if (run.output[record] !== "" || !run.failure[record]) {
    const name = `Reply of ${plainly(run.name)}`;
    const text = run.output[record] === "" ? "(empty)" : marked(run.output[record], run.span[record]);
    parts.push(element("pre", { class: "text", tabindex: 0, "aria-label": name }, text));
  }
  parts.push(...sqlOf(run, record));
  if (isLong(reason)) parts.push(...reasoning(HEAD.score, reason));
  parts.push(...judgedFacts(run, record, HEAD.score), ...factsOf(run, record));
  return element("section", { class: "answer", "aria-label": plainly(run.name) }, ...parts);
}

// Whether the value adds nothing to the verdict: it is missing, or a share of 100 % or 0 %.
function isPlainVerdict(run, record) {
  const value = run.value[record];
  return value === null || (HEAD.share && run.passed[record] >= 0 && (value === 0 || value === 1));
}

// The parsed value and its rule; the score's reason is shown above it.
function readingOf(run, record) {
  const parts = [];
  if (run.read[record]) parts.push(`read ${WORDS[run.read[record]]}`);
  if (run.rule[record]) parts.push(`by the rule “${WORDS[run.rule[record]].replaceAll("_", " ")}”`);
  if (run.confidence[record]) parts.push(WORDS[run.confidence[record]]);
  if (run.kind[record]) parts.push(WORDS[run.kind[record]].replaceAll("_", " "));
  return parts.length ? fact("Reading", shown(parts.join(", "))) : null;
}

function factsOf(run, record) {
  const parts = run.scores[record].flatMap((score) => scoreOf(run, record, score));
  const messages = messagesOf(run, record);
  if (messages) parts.push(messages);
  const retrieved = retrievedOf(run, record);
  if (retrieved) parts.push(retrieved);
  run.calls[record].forEach((call, at) => parts.push(...callOf(call, run.latency[record][at])));
  parts.push(fact("Time in all", `${run.seconds[record]} s`));
  if (run.metadata[record]) parts.push(...storedOf("From the target", run.metadata[record]));
  if (run.detail[record]) parts.push(...storedOf("From the scorer", run.detail[record]));
  return parts;
}

// A further score: its value or outcome, whether it passed, its reason, and how it was judged.
function scoreOf(run, record, [word, outcome, number, why, verdict]) {
  const [name, reason] = [WORDS[word], WORDS[why]];
  const entry = judgedEntry(run, record, name);
  const kind = entry && number === null && WORDS[entry[2]] ? ` (${WORDS[entry[2]].replaceAll("_", " ")})` : "";
  const value = number === null ? WORDS[outcome] + kind : String(Number(number.toFixed(6)));
  const passed = passMark(verdict);
  const short = reason && !isLong(reason) ? ` (${reason})` : "";
  const line = fact(name, element("span", {}, shown(value), passed ? " " : "", passed, shown(short)));
  return [line, ...(isLong(reason) ? reasoning(name, reason) : []), ...judgedFacts(run, record, name)];
}

function callOf([stage, text, tokensIn, tokensOut, estimated, finish, faults, attempts], latency) {
  const tried = attempts > 1 ? `, ${attempts} attempts (${WORDS[faults]})` : "";
  const ended = WORDS[finish] && WORDS[finish] !== "stop" ? `, ended by ${WORDS[finish]}` : "";
  const about = estimated ? " (estimated)" : "";
  const line = fact(`Call of ${WORDS[stage]}`, shown(`${latency} s, ${tokensIn} tokens in, ${tokensOut} out${about}${tried}${ended}`));
  if (text === 0) return [line];
  const reply = element("pre", { class: "text", tabindex: 0, "aria-label": "Reply of the model" }, shown(text));
  return [line, element("details", {}, element("summary", {}, "Reply of the model"), reply)];
}

function passages(title, words) {
  const entries = words.map((word) => element("li", { class: "text" }, shown(WORDS[word])));
  return element("details", {}, element("summary", {}, `${title}: ${words.length}`), element("ol", {}, ...entries));
}

function fact(name, value) {
  return element("div", { class: "fact" }, element("span", { class: "quiet" }, shown(`${name}: `)), value);
}

function stateMark(state) {
  return namedMark(state, STATE_NAMES[state]);
}

// The sign of a state with the scorer's name of the verdict.
function namedMark(state, name) {
  return element("span", { class: `state ${state}` }, element("span", { "aria-hidden": "true" }, `${SIGNS[state]} `), shown(name));
}
