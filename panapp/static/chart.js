// Draws every .chart from the figure that the page carries as data. Colours come from the style sheet.
"use strict";

const CONFIG = {
  displaylogo: false,
  responsive: true,
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["sendDataToCloud", "lasso2d", "select2d", "autoScale2d"],
};
const ROLES = { "estimate": "--chart-estimate", "interval-66": "--chart-estimate", "interval-95": "--chart-estimate", "truth": "--chart-truth", "spent": "--chart-estimate", "budget": "--chart-truth", "baseline": "--chart-fourth", "baseline-targeted": "--chart-third", "aggregated": "--chart-truth", "sampled": "--chart-estimate" };
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

for (const element of document.querySelectorAll(".chart")) {
  const figure = JSON.parse(document.getElementById(element.dataset.figure).textContent);
  const draw = () => {
    const { data, layout } = coloured(figure);
    return Plotly.react(element, data, layout, CONFIG);
  };
  element.replaceChildren();
  draw();
  dark.addEventListener("change", draw);
}
