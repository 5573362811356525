// What a judge decided and how, what was retrieved, and which scores failed; every text is shown as a text node.

const STEPS = { trace: "Steps of the judge", claims: "Claims", contexts: "Contexts judged", guidelines: "Guidelines" };
const LONG_REASON = 200;

function judgedEntry(run, record, name) {
  return (run.judged?.[record] ?? []).find(([word]) => WORDS[word] === name);
}

function failedOf(run, record) {
  return (run.failed?.[record] ?? []).map((word) => WORDS[word]);
}

// The scores that failed somewhere, in order of first appearance.
function failingScores() {
  return [...new Set(RUNS.flatMap((run) => (run.failed ?? []).flat()))].map((word) => WORDS[word]);
}

function hasFailed(row, number, name) {
  return row.records[number].some((record) => failedOf(RUNS[number], record).some((failed) => name === "*" || failed === name));
}

function passMark(passed) {
  if (passed === -1 || passed === undefined) return null;
  const kind = passed ? "right" : "wrong";
  return element("span", { class: `state ${kind}` }, element("span", { "aria-hidden": "true" }, `${SIGNS[kind]} `), passed ? "passed" : "failed");
}

// A short reason stands in its line, a judge's reasoning in a box of its own, whole.
function isLong(reason) {
  return reason.length > LONG_REASON || reason.includes("\n");
}

function reasoning(name, reason) {
  const title = `Reason of ${plainly(name)}`;
  return [fact(title, ""), element("pre", { class: "text", tabindex: 0, "aria-label": title }, shown(reason))];
}

function judgedFacts(run, record, name) {
  const entry = judgedEntry(run, record, name);
  if (!entry) return [];
  let told;
  try {
    told = JSON.parse(WORDS[entry[3]]);
  } catch {
    return [fact(`How ${name} was judged`, shown(WORDS[entry[3]]))];
  }
  const parts = [];
  if (told.verdict_like) parts.push(verdictLike(told.verdict_like));
  const how = [told.how, told.fallback, ...spreadOf(told)].filter((text) => text).map((text) => said(text));
  if (how.length) parts.push(fact(`How ${name} was judged`, shown(how.join("; "))));
  for (const [key, title] of Object.entries(STEPS)) {
    if (Array.isArray(told[key]) && told[key].length) parts.push(stepsOf(`${title} (${name})`, told[key]));
  }
  return parts;
}

function said(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function verdictLike(text) {
  const quoted = text === true ? "" : `: “${said(text)}”`;
  return element("p", { class: "warning" }, "⚠ The answer holds text that looks like a verdict", shown(quoted));
}

function spreadOf(told) {
  const parts = [];
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  if (Array.isArray(told.repeats)) parts.push(`repeats ${told.repeats.map((one) => (one === null ? "unparsed" : said(one))).join(", ")}`);
  if (typeof told.sd === "number") parts.push(`standard deviation ${told.sd.toFixed(2)}`);
  if (typeof told.flip_rate === "number") parts.push(`flip rate ${percent(told.flip_rate)}`);
  if (typeof told.mass === "number") parts.push(`${percent(told.mass)} of the probability covered`);
  if (told.distribution && typeof told.distribution === "object") {
    const shares = Object.entries(told.distribution).map(([value, share]) => `${value}: ${percent(share)}`);
    parts.push(`probabilities ${shares.join(", ")}`);
  }
  if (Array.isArray(told.bounds)) parts.push(`between ${told.bounds.map(said).join(" and ")} whatever was not read is worth`);
  return parts;
}

function stepsOf(title, steps) {
  const entries = steps.map((step) => {
    if (step === null || typeof step !== "object") return element("li", { class: "text" }, shown(said(step)));
    const verdict = step.verdict || String(step.outcome ?? "").replaceAll("_", " ") || "not read";
    const head = [step.repeat ? `repeat ${step.repeat}` : "", aboutStep(step)].filter((text) => text).join(", ");
    const line = element("span", {}, shown(head ? `${head}: ` : ""), element("strong", {}, shown(said(verdict))));
    const reason = step.reason ? element("div", { class: "text quiet" }, shown(said(step.reason))) : null;
    return element("li", { class: "text" }, line, reason);
  });
  return element("details", { open: true }, element("summary", {}, shown(`${title}: ${steps.length}`)), element("ol", {}, ...entries));
}

function aboutStep(step) {
  if (step.claim || step.guideline) return said(step.claim || step.guideline);
  if (Array.isArray(step.contexts)) return `passages ${step.contexts.join(", ")}`;
  return step.context ? `passage ${step.context}` : "";
}

// What an agent said and which tools it called, in order.
function messagesOf(run, record) {
  const messages = run.messages?.[record] ?? [];
  if (!messages.length) return null;
  const entries = messages.map(([speaker, text, calls]) => {
    const said = text ? element("div", { class: "text" }, shown(WORDS[text])) : null;
    const called = calls.map(([name, given]) => element("div", { class: "text" }, element("strong", {}, shown(`calls ${WORDS[name]}`)), shown(` ${WORDS[given]}`)));
    return element("li", { class: "text" }, element("div", { class: "quiet" }, shown(WORDS[speaker])), said, ...called);
  });
  const n = countCalls(messages);
  const title = `Messages of the agent: ${messages.length}${n ? `, ${n} ${n === 1 ? "call of a tool" : "calls of tools"}` : ""}`;
  return element("details", {}, element("summary", {}, title), element("ol", {}, ...entries));
}

function countCalls(messages) {
  return messages.reduce((n, [, , called]) => n + called.length, 0);
}

// Retrieved passages with where they are from; those that answer to an expected source are marked.
function retrievedOf(run, record) {
  const contexts = run.contexts[record];
  const sources = run.sources?.[record] ?? [];
  const n = Math.max(contexts.length, sources.length);
  if (!n) return null;
  if (!sources.length) return passages("Passages retrieved", contexts);
  const entries = Array.from({ length: n }, (_, place) => {
    const [label, expected] = sources[place] ?? [0, 0];
    const head = element("div", { class: "quiet" }, shown(WORDS[label]));
    if (expected) head.append(element("span", { class: "tag key" }, `✓ expected, by ${WORDS[expected]}`));
    return element("li", { class: "text" }, head, place < contexts.length ? shown(WORDS[contexts[place]]) : "");
  });
  const expected = sources.filter(([, one]) => one).length;
  const asked = expected || SAMPLES.sources?.[run.sample[record]]?.length ? `, ${expected} expected` : "";
  return element("details", {}, element("summary", {}, `Passages retrieved: ${n}${asked}`), element("ol", {}, ...entries));
}

function expectedSources(place) {
  const sources = SAMPLES.sources?.[place] ?? [];
  if (!sources.length) return null;
  const entries = sources.map(([label, text]) => element("li", { class: "text" }, element("div", { class: "quiet" }, shown(WORDS[label])), shown(WORDS[text])));
  return element("details", {}, element("summary", {}, `Expected sources: ${sources.length}`), element("ol", {}, ...entries));
}
