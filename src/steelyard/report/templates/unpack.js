// The data of the page: plain JSON, or two deflated lines, the samples and their durations.

const HOLDER = document.getElementById("data");

async function inflated(line) {
  const bytes = Uint8Array.from(atob(line), (character) => character.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text());
}

async function unpacked() {
  const [data, times] = await Promise.all(HOLDER.textContent.trim().split("\n").map(inflated));
  data.runs.forEach((run, number) => {
    Object.assign(run, times[number]);
    if (run.sample === 0) run.sample = run.output.map((_, record) => record);
  });
  return data;
}

function noteInstead(text) {
  const root = document.getElementById("browser");
  root.append(element("p", { class: "warning", role: "alert" }, `⚠ ${text}`));
  root.hidden = false;
  return null;
}

async function dataOfPage() {
  if (!HOLDER.dataset.packed) return JSON.parse(HOLDER.textContent);
  if (typeof DecompressionStream === "undefined") {
    return noteInstead("The samples of this page are compressed, and this browser cannot open them: it lacks DecompressionStream, which Chrome 80, Firefox 113 and Safari 16.4 have. Everything above is complete.");
  }
  try {
    return await unpacked();
  } catch {
    return noteInstead("The samples of this page cannot be opened: the file is damaged or was cut off.");
  }
}
