// Texts of samples and models become text nodes; nothing here parses HTML.

const HIDDEN = /[__HIDDEN__]/u;

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

function escapeOf(character) {
  const code = character.codePointAt(0);
  if (code <= 0xff) return "\\x" + code.toString(16).padStart(2, "0");
  return code <= 0xffff ? "\\u" + code.toString(16).padStart(4, "0") : "\\U" + code.toString(16).padStart(8, "0");
}

// Hidden and bidirectional control characters become visible escapes; other text stays in one node.
function shown(text) {
  const parts = document.createDocumentFragment();
  let plain = "";
  for (const character of text.replaceAll("\r\n", "\n")) {
    if (character === "\n" || character === "\t" || !HIDDEN.test(character)) {
      plain += character;
      continue;
    }
    parts.append(plain, element("span", { class: "escape" }, escapeOf(character)));
    plain = "";
  }
  parts.append(plain);
  return parts;
}

// Like `shown`, but returns a string.
function plainly(text) {
  let done = "";
  for (const character of text) done += HIDDEN.test(character) ? escapeOf(character) : character;
  return done;
}

function marked(text, span) {
  if (!span) return shown(text);
  const parts = document.createDocumentFragment();
  const label = element("span", { class: "vh" }, "read here: ");
  parts.append(shown(text.slice(0, span[0])), element("mark", {}, label, shown(text.slice(span[0], span[1]))));
  parts.append(shown(text.slice(span[1])));
  return parts;
}

function shortened(text, most) {
  const characters = Array.from(text.slice(0, most * 2 + 2));
  return characters.length > most ? characters.slice(0, most).join("") + "…" : text;
}

function capitalised(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function letter(option) {
  return String.fromCharCode(65 + option);
}

function debounced(action, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
}
