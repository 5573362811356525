"use strict";
// Keys of the pages, and what happens where the server does not answer. Nothing here makes markup of text.
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const isTyping = (element) => element.matches("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
  const sheet = () => document.getElementById("keys");

  function choose(step) {
    const all = rows();
    const at = all.findIndex((row) => row.getAttribute("aria-current") === "true");
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))];
    if (!next) return false;
    if (at >= 0) all[at].removeAttribute("aria-current");
    next.setAttribute("aria-current", "true");
    const link = next.querySelector("a[href]");
    (link || next).focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    return true;
  }

  function press(key) {
    if ((key === "j" || key === "k") && rows().length) return choose(key === "j" ? 1 : -1);
    if (key === "Enter") return false; // the focused link follows by itself
    for (const element of document.querySelectorAll("[data-key]")) {
      if (element.dataset.key !== key || !element.checkVisibility()) continue;
      if (element.matches("input, select, textarea")) element.focus();
      else if (element.matches(".picker > summary")) openPicker(element.parentElement);
      else element.click();
      return true;
    }
    return false;
  }

  function openPicker(picker) {
    picker.open = true;
    picker.scrollIntoView({ block: "nearest" });
    picker.querySelector("input").focus();
  }

  // Escape closes an open menu before it leaves the page, which would lose what was chosen or typed in it.
  function closeMenu() {
    const menu = document.querySelector(".menu[open]");
    if (!menu) return false;
    menu.open = false;
    menu.querySelector("summary").focus();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    // 229: what an input method takes; some browsers say so alone of the key that ends a composition.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && press("Ctrl+Enter")) {
      event.preventDefault(); // the one key that works while typing: it ends the typing
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const target = event.target;
    if (target instanceof Element && isTyping(target)) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (sheet()?.open) {
      if (event.key === "?") sheet().close();
      return; // the browser closes a dialog on Escape
    }
    if ((event.key === "Escape" && closeMenu()) || press(event.key)) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest("button");
    if (button && button.dataset.key === "?") sheet().showModal();
    if (button && button.dataset.close !== undefined) button.closest("dialog").close();
    if (button && button.dataset.copy) navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent).then(() => { button.textContent = "Copied"; });
  });
  // Browsers let pages copy on this machine and over TLS alone.
  if (navigator.clipboard) for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;

  // A value in quotation marks, which may hold an "and" and whose end may not be typed yet, or the "and" before a part,
  // with a name in quotation marks.
  const AND = /[=<>]\s*(?:"(?:[^"]|"")*"|'[^']*')(?=\s+and\s|\s*$)|[=<>]\s*(?:"(?:[^"]|"")*|'[^']*)$|(^|\s+and\s+)(?:(?:label:)?"(?:[^"]|"")*(?:"|$))?/gi;
  const beginOfLast = (filter) =>
    [...filter.matchAll(AND)].filter(([, and]) => and !== undefined).map(({ index, 1: and }) => index + and.length).at(-1) ?? 0;

  // A list of completions fits a whole field; a filter is parts joined by "and", of which the last is being typed.
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!(field instanceof HTMLInputElement) || field.dataset.completes === undefined) return;
    const before = field.value.slice(0, beginOfLast(field.value));
    for (const option of field.list.options) {
      option.dataset.part ??= option.value;
      if (option.value !== before + option.dataset.part) option.value = before + option.dataset.part;
    }
  });

  // What is typed is sent when the typing pauses, and at once with Enter. It is not sent twice: rows that come again
  // would lose the one that was chosen meanwhile.
  let lastSent = "";
  document.addEventListener("htmx:before:request", (event) => {
    const { sourceEvent, request } = event.detail.ctx;
    if (sourceEvent?.type === "input" && request.action === lastSent) event.preventDefault();
    if (sourceEvent) lastSent = request.action;
  });

  // Figures that come later replace the rows: what was ticked meanwhile stays ticked.
  let ticked = [];
  const boxes = () => [...document.querySelectorAll("#runs input[name=run]")];
  document.addEventListener("htmx:before:swap", () => { ticked = boxes().filter((box) => box.checked).map((box) => box.value); });
  document.addEventListener("htmx:after:swap", () => { for (const box of boxes()) box.checked = ticked.includes(box.value); offerPin(); });

  // A run that cannot be a baseline is not offered to be pinned: the reason is shown in place of the button.
  function offerPin() {
    const reason = document.getElementById("no-baseline");
    if (!reason) return;
    reason.textContent = boxes().find((box) => box.checked && box.dataset.noBaseline)?.dataset.noBaseline ?? "";
    reason.hidden = !reason.textContent;
    document.querySelector(".ticked button[value=pin]").hidden = !reason.hidden;
  }
  document.addEventListener("change", offerPin);
  offerPin(); // a browser that goes back ticks again what was ticked

  // A server that was stopped or started again with another token: say so where the page is, and keep what is shown.
  const say = (text) => {
    const line = document.getElementById("connection");
    line.textContent = text;
    line.hidden = !text;
  };
  const lost = "The viewer does not answer. The page shows an earlier state.";
  const refused = "The viewer was started again. Open the address that it printed.";
  document.addEventListener("htmx:sse:error", (event) => say(event.detail.status === 401 ? refused : lost));
  document.addEventListener("htmx:sse:after:connection", () => say(""));
  document.addEventListener("trouble", (event) => say(event.detail.data)); // the viewer answers, and cannot read its store
  document.addEventListener("htmx:error", (event) => {
    say(lost);
    // The extension connects again only what was connected once: not where the server went while the page opened.
    const stream = event.target instanceof Element && event.target.closest("[hx-sse\\:connect]");
    if (stream) setTimeout(() => htmx.trigger(stream, "reconnect"), 1000);
  });
  document.addEventListener("htmx:before:swap", (event) => {
    const status = event.detail?.ctx?.response?.status;
    if (status === 401) { say(refused); event.preventDefault(); }
  });
})();
