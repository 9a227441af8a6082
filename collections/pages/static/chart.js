// Every .chart is drawn by the server. When a pointer rests on it, or the keyboard reaches its button,
// plotly.js is loaded and takes the place of the drawing, in the same height.
"use strict";

const LIBRARY = document.currentScript.dataset.plotly;
const CONFIG = {
  displaylogo: false,
  responsive: true,
  showSendToCloud: false,
  plotlyServerURL: "",
  // Few enough to stand below each other in the right margin, where they cover nothing.
  modeBarButtonsToRemove: ["sendDataToCloud", "lasso2d", "select2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
};
const ROLES = {
  "estimate": "--chart-estimate", "interval-66": "--chart-estimate", "interval-95": "--chart-estimate",
  "truth": "--chart-truth",
  "baseline": "--chart-fourth", "baseline-targeted": "--chart-third",
  "aggregated": "--chart-truth", "sampled": "--chart-estimate", "measured": "--text",
  "line-1": "--chart-estimate", "line-2": "--chart-truth", "line-3": "--chart-third",
  "line-4": "--chart-fourth", "line-5": "--muted", "current": "--text",
  "spent": "--chart-estimate", "budget": "--chart-truth",
};
const RESTS = 150; // milliseconds: a pointer that passes loads nothing
const EXPLORE = "Explore the chart", BACK = "Show the simple chart";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function coloured(figure) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const data = figure.data.map((trace) => {
    const own = colour(ROLES[trace.meta]);
    return {
      ...trace,
      ...(trace.line && { line: { ...trace.line, color: own } }),
      ...(trace.marker && {
        marker: { ...trace.marker, color: own, line: { ...trace.marker.line, color: own } },
      }),
    };
  });
  const axis = {
    gridcolor: colour("--line"),
    zerolinecolor: colour("--control"),
    linecolor: colour("--line"),
  };
  const layout = {
    ...figure.layout,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: style.getPropertyValue("--sans"), size: 14, color: colour("--text") },
    modebar: {
      orientation: "v",
      color: colour("--muted"),
      activecolor: colour("--text"),
      bgcolor: "rgba(0,0,0,0)",
    },
    hoverlabel: {
      bgcolor: colour("--raised"),
      bordercolor: colour("--control"),
      font: { color: colour("--text") },
    },
  };
  // A figure with several panels has an axis xaxis2, yaxis2, … for each.
  for (const name of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
    layout[name] = { ...layout[name], ...axis };
  }
  return { data, layout };
}

let library = null;

function loaded() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = LIBRARY;
    script.onload = resolve;
    script.onerror = () => {
      library = null;
      script.remove();
      reject(new Error("plotly.js was not loaded"));
    };
    document.head.append(script);
  });
  return library;
}

const drawn = new Map(); // chart → { plot, height }
const loading = new Set();

function draw(chart, { plot, height }) {
  const { data, layout } = coloured(JSON.parse(chart.dataset.plot));
  return Plotly.react(plot, data, { ...layout, height }, CONFIG);
}

async function explore(chart) {
  if (loading.has(chart) || drawn.has(chart)) return;
  const button = chart.querySelector(":scope > .explore > button");
  loading.add(chart);
  try {
    await loaded();
    const plot = document.createElement("div");
    plot.className = "plot";
    // The drawing stays until the plot is ready, which is as high: nothing on the page moves.
    const shapes = [...chart.querySelectorAll(":scope > .drawn")]; // only that of this width is shown
    const height = Math.max(...shapes.map((drawing) => drawing.offsetHeight));
    chart.prepend(plot);
    drawn.set(chart, { plot, height });
    await draw(chart, drawn.get(chart));
    plot.on("plotly_click", ({ points: [point] }) => {
      if (point.customdata) location.assign(point.customdata);
    });
    chart.classList.add("explored");
    button.textContent = BACK;
  } catch (error) {
    if (library !== null) throw error;
    button.textContent = "Not loaded. Try again";
  } finally {
    loading.delete(chart);
  }
}

function backToDrawing(chart, button) {
  Plotly.purge(drawn.get(chart).plot);
  drawn.get(chart).plot.remove();
  drawn.delete(chart);
  chart.classList.remove("explored");
  chart.dataset.simple = ""; // chosen: a pointer changes it no more
  button.textContent = EXPLORE;
}

const buttonOf = (target) => target.closest?.(".chart > .explore > button");

function offer(root) {
  for (const button of root.querySelectorAll(".chart > .explore > button")) button.hidden = false;
}

offer(document);
document.addEventListener("htmx:afterSwap", (event) => offer(event.detail.target));
document.addEventListener("click", (event) => {
  const button = buttonOf(event.target);
  if (!button) return;
  const chart = button.closest(".chart");
  clearTimeout(resting);
  chart.classList.contains("explored") ? backToDrawing(chart, button) : explore(chart);
});
// By keyboard only: a click on the button says itself what it wants.
document.addEventListener("focusin", (event) => {
  const button = buttonOf(event.target);
  if (button?.matches(":focus-visible") && !("simple" in button.closest(".chart").dataset)) {
    explore(button.closest(".chart"));
  }
});
let resting = 0, under = null;
document.addEventListener("pointerover", (event) => {
  const chart = event.target.closest?.(".chart[data-plot]") ?? null;
  if (chart === under) return;
  clearTimeout(resting);
  under = chart;
  if (chart && !("simple" in chart.dataset)) resting = setTimeout(explore, RESTS, chart);
});
document.addEventListener("pointercancel", () => {
  clearTimeout(resting);
  under = null;
});
dark.addEventListener("change", () => {
  for (const [chart, shown] of drawn) chart.isConnected ? draw(chart, shown) : drawn.delete(chart);
});
