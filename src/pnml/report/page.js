"use strict";

// Sorting: by the key of a cell where it has one, by its text otherwise; what is no number is last.
(() => {
  const collator = new Intl.Collator(undefined, { numeric: true });
  const status = document.getElementById("sorted");

  const compareNumbers = (a, b) => (a === b ? 0 : a < b ? -1 : 1);
  const keyOf = (row, column, numeric) => {
    const cell = row.cells[column];
    return numeric ? Number(cell.dataset.key) : cell.textContent.trim();
  };

  const sortBy = (table, button) => {
    const body = table.tBodies[0];
    const heading = button.closest("th");
    const numeric = button.dataset.kind === "number";
    const before = heading.getAttribute("aria-sort");
    // Large numbers and the beginning of the alphabet are what one looks for first.
    const first = numeric ? "descending" : "ascending";
    const second = numeric ? "ascending" : "descending";
    const order = before === first ? second : first;
    const sign = order === "ascending" ? 1 : -1;
    const rows = Array.from(body.rows, (row) => [keyOf(row, Number(button.dataset.column), numeric), row]);
    rows.sort(([a], [b]) => {
      if (!numeric) return sign * collator.compare(a, b);
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return sign * compareNumbers(a, b);
    });
    body.append(...rows.map(([, row]) => row));
    table.querySelectorAll("th[aria-sort]").forEach((th) => th.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", order);
    status.textContent = `Sorted by ${button.textContent.trim()}, ${order}.`;
  };

  document.querySelectorAll("table.sortable").forEach((table) => {
    table.tHead.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) sortBy(table, button);
    });
  });
})();

// Paper has nothing to click: all that is folded is open while it is printed.
(() => {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    opened.forEach((details) => (details.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((details) => (details.open = false)));
})();

// Charts: a role gets its colour from the style sheet, so that light and dark need one drawing.
(() => {
  const stored = document.getElementById("drawings");
  if (!stored || typeof Plotly === "undefined") return;
  const drawings = JSON.parse(stored.textContent);
  const root = document.documentElement;
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const faint = (hex, share) => {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${red}, ${green}, ${blue}, ${share})`;
  };

  const painted = ({ role, ...trace }) => {
    const own = colour(role);
    const marker = { ...trace.marker, color: own };
    if (trace.type === "bar") return { ...trace, marker: { ...marker, line: { width: 0 } } };
    if (trace.mode === "markers") {
      const seen = role === "trusted" ? 0.6 : 0.9;
      return { ...trace, marker: { ...marker, opacity: seen, line: { color: own, width: role === "trusted" ? 0 : 2 } } };
    }
    if (role === "band") return { ...trace, line: { width: 0 }, fillcolor: faint(own, 0.16) };
    const line = { color: own, width: 2.2, dash: role === "random" ? "dash" : "solid" };
    return { ...trace, marker: { ...marker, size: 6 }, line };
  };

  const axis = (given) => ({
    automargin: true,
    gridcolor: colour("rule"),
    linecolor: colour("rule"),
    zerolinecolor: colour("rule"),
    tickcolor: colour("rule"),
    ...given,
    title: { ...given.title, standoff: 8, font: { color: colour("muted"), size: 12.5 } },
  });

  const laidOut = (layout) => ({
    ...layout,
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("muted") },
    margin: { l: 12, r: 12, t: layout.showlegend === false ? 12 : 34, b: 12 },
    legend: { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom", font: { color: colour("ink") } },
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("rule"), font: { color: colour("ink") } },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    xaxis: axis(layout.xaxis),
    yaxis: axis(layout.yaxis),
    shapes: (layout.shapes || []).map(({ role, ...shape }) => ({
      ...shape,
      line: { color: colour(role), width: 1.4, dash: "dot" },
    })),
    annotations: (layout.annotations || []).map(({ role, ...note }) => ({
      ...note,
      font: { color: colour(role), size: 12 },
      bgcolor: faint(colour("card"), 0.8),
    })),
  });

  const config = {
    responsive: true,
    displayModeBar: false,
  };

  const draw = (width) => {
    for (const { name, traces, layout } of drawings) {
      const size = width ? { width, autosize: false } : {};
      Plotly.react(name, traces.map(painted), { ...laidOut(layout), ...size }, { ...config });
    }
  };

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  addEventListener("beforeprint", () => {
    root.dataset.print = "";
    draw(640); // CSS pixels: fits on A4 and on Letter paper
  });
  addEventListener("afterprint", () => {
    delete root.dataset.print;
    draw();
  });
})();
