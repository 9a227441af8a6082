// Every .chart is drawn by the server. Whoever looks closely gets plotly.js, which is loaded then and not
// before.
"use strict";

const LIBRARY = document.currentScript.dataset.plotly;
const CONFIG = {
  displaylogo: false,
  responsive: true,
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["sendDataToCloud", "lasso2d", "select2d", "autoScale2d"],
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
    modebar: { color: colour("--muted"), activecolor: colour("--text"), bgcolor: "rgba(0,0,0,0)" },
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

const drawn = new Map();

function draw(chart, plot) {
  const { data, layout } = coloured(JSON.parse(chart.dataset.plot));
  return Plotly.react(plot, data, layout, CONFIG);
}

async function explore(chart, button) {
  button.disabled = true;
  try {
    await loaded();
  } catch {
    button.textContent = "Not loaded. Try again";
    return;
  } finally {
    button.disabled = false;
  }
  const plot = document.createElement("div");
  plot.className = "plot";
  chart.prepend(plot);
  chart.classList.add("explored");
  drawn.set(chart, plot);
  draw(chart, plot);
  plot.on("plotly_click", ({ points: [point] }) => {
    if (point.customdata) location.assign(point.customdata);
  });
  button.textContent = BACK;
  button.focus();
}

function backToDrawing(chart, button) {
  Plotly.purge(drawn.get(chart));
  drawn.get(chart).remove();
  drawn.delete(chart);
  chart.classList.remove("explored");
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
  drawn.has(chart) ? backToDrawing(chart, button) : explore(chart, button);
});
// It is on its way when the button is pressed.
document.addEventListener("pointerover", (event) => {
  if (buttonOf(event.target)) loaded().catch(() => {});
});
dark.addEventListener("change", () => {
  for (const [chart, plot] of drawn) chart.isConnected ? draw(chart, plot) : drawn.delete(chart);
});
