// Steps of judges, messages of agents, retrieved passages, failed scores; every text is shown as a text node.

const STEPS = { trace: "Steps of the judge", claims: "Claims", contexts: "Contexts judged", guidelines: "Guidelines", turns: "Turns" };
const LONG_REASON = 200;

function judgedEntry(run, record, name) {
  return (run.judged?.[record] ?? []).find(([word]) => WORDS[word] === name);
}

function failedOf(run, record) {
  const failed = (run.failed?.[record] ?? []).map((word) => WORDS[word]);
  return run.passed[record] === 0 ? [HEAD.score, ...failed] : failed;
}

// The scores that failed in any record, the page's first; empty where its chips are enough.
function failingScores() {
  const names = [...new Set(RUNS.flatMap((run) => (run.failed ?? []).flat()))].map((word) => WORDS[word]);
  return names.length && RUNS.some((run) => run.passed.includes(0)) ? [HEAD.score, ...names] : names;
}

function hasFailed(row, number, name) {
  return row.records[number].some((record) => failedOf(RUNS[number], record).some((failed) => name === "*" || failed === name));
}

function passMark(passed) {
  if (passed < 0) return null;
  const kind = passed ? "right" : "wrong";
  return element("span", { class: `state ${kind}` }, element("span", { "aria-hidden": "true" }, `${SIGNS[kind]} `), passed ? "passed" : "failed");
}

// A short reason is on the line of its score; a judge's reasoning has a box of its own.
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
  let details;
  try {
    details = JSON.parse(WORDS[entry[3]]);
  } catch {
    return [fact(`How ${name} was judged`, shown(WORDS[entry[3]]))];
  }
  const parts = [];
  if (details.verdict_like) parts.push(verdictLike(details.verdict_like));
  const how = [details.how, details.fallback, ...spreadOf(details)].filter((text) => text).map((text) => textOf(text));
  if (how.length) parts.push(fact(`How ${name} was judged`, shown(how.join("; "))));
  for (const [key, title] of Object.entries(STEPS)) {
    if (Array.isArray(details[key]) && details[key].length) parts.push(stepsOf(`${title} (${name})`, details[key]));
  }
  return parts;
}

function textOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function verdictLike(text) {
  const quoted = text === true ? "" : `: “${textOf(text)}”`;
  return element("p", { class: "warning" }, "⚠ The answer contains text that looks like a verdict", shown(quoted));
}

function spreadOf(details) {
  const parts = [];
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  if (Array.isArray(details.repeats)) parts.push(`repeats ${details.repeats.map((value) => (value === null ? "unreadable" : textOf(value))).join(", ")}`);
  if (typeof details.sd === "number") parts.push(`standard deviation ${details.sd.toFixed(2)}`);
  if (typeof details.flip_rate === "number") parts.push(`flip rate ${percent(details.flip_rate)}`);
  if (typeof details.mass === "number") parts.push(`${percent(details.mass)} of the probability covered`);
  if (details.distribution && typeof details.distribution === "object") {
    const shares = Object.entries(details.distribution).map(([value, share]) => `${value}: ${percent(share)}`);
    parts.push(`probabilities ${shares.join(", ")}`);
  }
  if (Array.isArray(details.bounds)) parts.push(`counting the unreadable verdicts, ${details.bounds.map(textOf).join(" to ")}`);
  return parts;
}

function stepsOf(title, steps) {
  const entries = steps.map((step) => {
    if (step === null || typeof step !== "object") return element("li", { class: "text" }, shown(textOf(step)));
    const verdict = step.verdict || String(step.outcome ?? "").replaceAll("_", " ") || "unreadable";
    const head = [step.repeat ? `repeat ${step.repeat}` : "", aboutStep(step)].filter((text) => text).join(", ");
    const line = element("span", {}, shown(head ? `${head}: ` : ""), element("strong", {}, shown(textOf(verdict))));
    const reason = step.reason ? element("div", { class: "text quiet" }, shown(textOf(step.reason))) : null;
    return element("li", { class: "text" }, line, reason);
  });
  return element("details", { open: true }, element("summary", {}, shown(`${title}: ${steps.length}`)), element("ol", {}, ...entries));
}

function aboutStep(step) {
  if (step.claim || step.guideline) return textOf(step.claim || step.guideline);
  if (Array.isArray(step.contexts)) return `passages ${step.contexts.join(", ")}`;
  return step.context ? `passage ${step.context}` : "";
}

// The messages and tool calls of an agent, in order.
function messagesOf(run, record) {
  const messages = run.messages?.[record] ?? [];
  if (!messages.length) return null;
  const entries = messages.map(([speaker, text, calls]) => {
    const content = text ? element("div", { class: "text" }, shown(WORDS[text])) : null;
    const called = calls.map(([name, args]) => element("div", { class: "text" }, element("strong", {}, shown(`calls ${WORDS[name]}`)), shown(` ${WORDS[args]}`)));
    return element("li", { class: "text" }, element("div", { class: "quiet" }, shown(WORDS[speaker])), content, ...called);
  });
  const n = countCalls(messages);
  const title = `Messages of the agent: ${messages.length}${n ? `, ${n} ${n === 1 ? "call of a tool" : "calls of tools"}` : ""}`;
  return element("details", {}, element("summary", {}, title), element("ol", {}, ...entries));
}

function countCalls(messages) {
  return messages.reduce((n, [, , called]) => n + called.length, 0);
}

// Retrieved passages with their sources; those that match an expected source are marked.
function retrievedOf(run, record) {
  const contexts = run.contexts[record];
  const sources = run.sources?.[record] ?? [];
  const n = Math.max(contexts.length, sources.length);
  if (!n) return null;
  if (!sources.length) return passages("Passages retrieved", contexts);
  const entries = Array.from({ length: n }, (_, index) => {
    const [label, expected] = sources[index] ?? [0, 0];
    const head = element("div", { class: "quiet" }, shown(WORDS[label]));
    if (expected) head.append(element("span", { class: "tag key" }, `✓ expected, by ${WORDS[expected]}`));
    return element("li", { class: "text" }, head, index < contexts.length ? shown(WORDS[contexts[index]]) : "");
  });
  const expected = sources.filter(([, match]) => match).length;
  const note = expected || SAMPLES.sources?.[run.sample[record]]?.length ? `, ${expected} expected` : "";
  return element("details", {}, element("summary", {}, `Passages retrieved: ${n}${note}`), element("ol", {}, ...entries));
}

function expectedSources(index) {
  const sources = SAMPLES.sources?.[index] ?? [];
  if (!sources.length) return null;
  const entries = sources.map(([label, text]) => element("li", { class: "text" }, element("div", { class: "quiet" }, shown(WORDS[label])), shown(WORDS[text])));
  return element("details", {}, element("summary", {}, `Expected sources: ${sources.length}`), element("ol", {}, ...entries));
}
