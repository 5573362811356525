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
      if (element.dataset.key !== key) continue;
      if (element.matches("input, select, textarea")) element.focus(); else element.click();
      return true;
    }
    return false;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const target = event.target;
    if (target instanceof Element && isTyping(target)) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (sheet()?.open) {
      if (event.key === "?") sheet().close();
      return; // the browser closes a dialog on Escape
    }
    if (press(event.key)) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest("button");
    if (button && button.dataset.key === "?") sheet().showModal();
    if (button && button.dataset.close !== undefined) button.closest("dialog").close();
  });

  // A server that was stopped or started again with another token: say so where the page is, and keep what is shown.
  const say = (text) => {
    const line = document.getElementById("connection");
    line.textContent = text;
    line.hidden = !text;
  };
  const lost = "The viewer does not answer. What is shown is from before.";
  const refused = "The viewer was started again. Open the address that it printed.";
  document.addEventListener("htmx:sse:error", (event) => say(event.detail.status === 401 ? refused : lost));
  document.addEventListener("htmx:sse:after:connection", () => say(""));
  document.addEventListener("htmx:error", () => say(lost));
  document.addEventListener("htmx:before:swap", (event) => {
    const status = event.detail?.ctx?.response?.status;
    if (status === 401) { say(refused); event.preventDefault(); }
  });
})();
