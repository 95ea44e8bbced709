"use strict";
// What needs a script: the theme button, a search field per long table, the heat map's cursor.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  button.addEventListener("click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    button.setAttribute("aria-pressed", String(!dark));
  });

  for (const table of document.querySelectorAll("table[data-filter]")) {
    const rows = [...table.tBodies[0].rows];
    const label = document.createElement("label");
    const field = document.createElement("input");
    const told = document.createElement("span");
    field.type = "search";
    told.className = "count";
    told.setAttribute("role", "status");
    label.append(`Filter ${table.caption.textContent}: `, field);
    const paragraph = document.createElement("p");
    paragraph.append(label, told);
    table.parentElement.before(paragraph);
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !wanted.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      told.textContent = wanted.length ? `${shown} of ${rows.length}` : "";
    });
  }

  const span = (first, block, size) => {
    const low = first * block;
    const high = Math.min(low + block, size) - 1;
    return low === high ? `${low}` : `${low} to ${high}`;
  };
  for (const map of document.querySelectorAll(".heat")) {
    const heat = JSON.parse(map.dataset.heat);
    const told = map.parentElement.querySelector(".told");
    const cursor = map.querySelector(".cursor");
    const width = Number(cursor.getAttribute("width"));
    const height = Number(cursor.getAttribute("height"));
    const last = [heat.wrong.length - 1, heat.wrong[0].length - 1];
    let at = [0, 0];
    const tell = () => {
      const [row, column] = at;
      cursor.setAttribute("x", column * width);
      cursor.setAttribute("y", row * height);
      const share = Number(heat.wrong[row][column]);
      const held = heat.names[heat.kinds[row][column]];
      const state = share === 0 ? "right" : `${share === 9 ? "all" : "partly"} wrong, holds ${held}`;
      const first = column * heat.block[1];
      const line = heat.line
        ? `, 64-byte line ${Math.floor((row * heat.block[0] * heat.size[1] + first) / heat.line)}`
        : "";
      told.textContent =
        `rows ${span(row, heat.block[0], heat.size[0])}, ` +
        `columns ${span(column, heat.block[1], heat.size[1])}${line}: ${state}`;
    };
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    map.addEventListener("keydown", (event) => {
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      at = at.map((value, i) => Math.min(Math.max(value + step[i], 0), last[i]));
      tell();
    });
    map.addEventListener("pointermove", (event) => {
      const box = map.getBoundingClientRect();
      const place = [
        Math.floor(((event.clientY - box.top) / box.height) * (last[0] + 1)),
        Math.floor(((event.clientX - box.left) / box.width) * (last[1] + 1)),
      ];
      at = place.map((value, i) => Math.min(Math.max(value, 0), last[i]));
      tell();
    });
  }
})();
