// Draws every .chart from the figure that the page carries as data. Colours come from the style sheet.
"use strict";

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
  "aggregated": "--chart-truth", "sampled": "--chart-estimate",
  "line-1": "--chart-estimate", "line-2": "--chart-truth", "line-3": "--chart-third",
  "line-4": "--chart-fourth", "line-5": "--muted", "current": "--text",
  "spent": "--chart-estimate", "budget": "--chart-truth",
};
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function coloured(figure) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const data = figure.data.map((trace) => {
    const own = colour(ROLES[trace.meta]);
    return {
      ...trace,
      ...(trace.line && { line: { ...trace.line, color: own } }),
      ...(trace.marker && { marker: { ...trace.marker, color: own, line: { ...trace.marker.line, color: own } } }),
    };
  });
  const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--control"), linecolor: colour("--line") };
  const layout = {
    ...figure.layout,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: style.getPropertyValue("--sans"), size: 14, color: colour("--text") },
    modebar: { color: colour("--muted"), activecolor: colour("--text"), bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: { bgcolor: colour("--raised"), bordercolor: colour("--control"), font: { color: colour("--text") } },
  };
  // A figure with several panels has an axis xaxis2, yaxis2, … for each.
  for (const name of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
    layout[name] = { ...layout[name], ...axis };
  }
  return { data, layout };
}

const drawn = new Map();

// A chart's figure stands in a script element of its page (data-figure) or, where HTMX brings
// it along, in the element itself (data-plot).
function drawAll(root) {
  for (const element of root.querySelectorAll(".chart")) {
    if (drawn.has(element)) continue;
    const text = element.dataset.plot ?? document.getElementById(element.dataset.figure).textContent;
    const figure = JSON.parse(text);
    const draw = () => {
      const { data, layout } = coloured(figure);
      return Plotly.react(element, data, layout, CONFIG);
    };
    element.replaceChildren();
    draw();
    drawn.set(element, draw);
  }
}

drawAll(document);
document.addEventListener("htmx:afterSwap", (event) => drawAll(event.detail.target));
dark.addEventListener("change", () => {
  for (const [element, draw] of drawn) element.isConnected ? draw() : drawn.delete(element);
});
