"use strict";
// What needs a script: the theme button, filters and sorting of long tables, links into folded cases, the heat
// map's cursor.
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

  const words = (cell) => cell.textContent.split(/[\s,]+/).filter(Boolean);
  const choice = (name, values) => {
    const list = document.createElement("select");
    list.append(new Option("all", ""), ...values.map((value) => new Option(value, value)));
    const label = document.createElement("label");
    label.append(`${name} `, list);
    return [label, list];
  };
  for (const table of document.querySelectorAll("table[data-filter]")) {
    if (table.closest(".case")) continue; // one field per table, not hundreds of them
    const rows = [...table.tBodies[0].rows];
    const label = document.createElement("label");
    const field = document.createElement("input");
    const told = document.createElement("span");
    const tools = document.createElement("p");
    field.type = "search";
    told.className = "count";
    tools.className = "tools";
    told.setAttribute("role", "status");
    label.append(`Filter ${table.caption.textContent}: `, field);
    tools.append(label);
    const lists = [];
    for (const head of table.querySelectorAll("th[data-choose]")) {
      const whole = head.textContent !== "types";
      const of = (row) => (whole ? [row.cells[head.cellIndex].textContent] : words(row.cells[head.cellIndex]));
      const values = [...new Set(rows.flatMap(of))].filter(Boolean).sort();
      if (values.length < 2) continue;
      const [named, list] = choice(head.textContent, values);
      lists.push((row) => !list.value || of(row).includes(list.value));
      list.addEventListener("change", () => filter());
      tools.append(named);
    }
    tools.append(told);
    table.parentElement.before(tools);
    const filter = () => {
      const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !(wanted.every((word) => text.includes(word)) && lists.every((fits) => fits(row)));
        shown += row.hidden ? 0 : 1;
      }
      told.textContent = shown < rows.length || wanted.length ? `${shown} of ${rows.length}` : "";
    };
    field.addEventListener("input", filter);
  }

  for (const table of document.querySelectorAll("table[data-sort]")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const compare = (a, b) =>
      a !== "" && b !== "" && !isNaN(a) && !isNaN(b) ? a - b : a.localeCompare(b, "en", { numeric: true });
    const value = (row, at) => row.cells[at].querySelector("data")?.value ?? row.cells[at].textContent;
    heads.forEach((head, at) => {
      const press = document.createElement("button");
      press.type = "button";
      press.className = "sort";
      press.append(...head.childNodes);
      head.append(press);
      press.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const sorted = [...body.rows].sort((a, b) => compare(value(a, at), value(b, at)));
        body.append(...(up ? sorted : sorted.reverse()));
      });
    });
  }

  const reveal = () => {
    const found = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!found || !found.matches("details.case")) return;
    found.open = true;
    found.querySelector("summary").focus();
    found.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#case"]');
    if (!link || event.ctrlKey || event.metaKey) return;
    // the browser's own way there would move the focus elsewhere
    event.preventDefault();
    history.pushState(null, "", link.hash);
    reveal();
  });
  reveal();

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
