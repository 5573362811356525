// Generated SQL: both queries with the words that differ, and the first rows of both results side by side.

function sqlOf(run, record) {
  const entry = run.sql?.[record] ?? [];
  if (!entry.length) return [];
  const [expected, predicted, reference, returned] = entry;
  const name = plainly(run.name);
  const parts = [];
  if (expected.length) {
    parts.push(sideBySide(
      queryText("SQL of the reference", expected, "del"),
      queryText(`SQL of ${name}`, predicted, "ins"),
    ));
  }
  if (reference.length) {
    parts.push(sideBySide(resultTable("Result of the reference", reference), resultTable(`Result of ${name}`, returned)));
  }
  return parts;
}

function sideBySide(...sides) {
  return element("div", { class: "sides" }, ...sides);
}

// Words that are not in the other query are struck out (reference) or underlined (reply), as `del` and `ins` elements.
function queryText(title, lines, tag) {
  const text = element("pre", { class: "text sql", tabindex: 0, "aria-label": title });
  lines.forEach((line, number) => {
    if (number) text.append("\n");
    for (const [word, changed] of line) text.append(changed ? element(tag, {}, shown(WORDS[word])) : shown(WORDS[word]));
  });
  return element("div", {}, element("p", { class: "quiet" }, shown(title)), text);
}

function resultTable(title, result) {
  if (!result.length) return element("div", {}, element("p", { class: "quiet" }, shown(title)), element("p", {}, "no result"));
  const [columns, rows, total] = result;
  const count = rows.length < total ? `${rows.length} of ${total.toLocaleString("en")} rows` : `${total} row${total === 1 ? "" : "s"}`;
  const head = element("tr", {}, element("th", { scope: "col" }, "row"), ...columns.map((name, at) =>
    element("th", { scope: "col" }, shown(WORDS[name] || String(at + 1)))));
  const body = rows.map(([number, cells, differs]) => element("tr", {}, element("th", { scope: "row" }, String(number)), ...cells.map((cell, at) =>
    resultCell(WORDS[cell], differs.includes(at)))));
  const table = element("table", { class: "result" }, element("caption", {}, shown(`${title}: ${count}`)),
    element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": title }, table);
}

function resultCell(text, differs) {
  if (!differs) return element("td", {}, shown(text));
  return element("td", { class: "differs" }, element("span", { class: "vh" }, "differs: "), shown(text));
}
