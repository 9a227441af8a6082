// Comforts on top of pages that work without any script: copy buttons and sliders.
"use strict";

const SLIDER_STEPS = 200;

for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied: select the text instead";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

function rounded(value, whole) {
  if (whole && value < 100) return String(Math.round(value));
  const digits = Math.max(0, 1 - Math.floor(Math.log10(Math.abs(value) || 1)));
  const scale = 10 ** (2 - Math.ceil(Math.log10(Math.abs(value) || 1)));
  const kept = Math.round(value * scale) / scale;
  if (whole) return String(Math.round(kept));
  const short = Number(kept.toFixed(Math.min(40, digits)));
  return short && Math.abs(short) < 1e-4 ? short.toExponential() : String(short);
}

for (const box of document.querySelectorAll("input[data-slider]")) {
  const logarithmic = box.dataset.slider === "log";
  const low = Number(box.min), high = Number(box.max);
  const floor = Number(box.dataset.sliderFrom ?? low); // the usual values; the box takes all
  const toPosition = (value) => logarithmic
    ? SLIDER_STEPS * Math.log(Math.max(value, floor) / floor) / Math.log(high / floor)
    : SLIDER_STEPS * (value - floor) / (high - floor);
  const toValue = (position) => logarithmic
    ? floor * (high / floor) ** (position / SLIDER_STEPS)
    : floor + (high - floor) * position / SLIDER_STEPS;
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = "0";
  slider.max = String(SLIDER_STEPS);
  slider.step = "1";
  slider.setAttribute("aria-label", `${box.labels[0].firstChild.textContent.trim()}, slider`);
  const follow = () => {
    // Without a value there is no place on the slider: one in the middle would look chosen.
    slider.hidden = box.value === "";
    if (box.value !== "") slider.value = String(toPosition(Number(box.value)));
    slider.setAttribute("aria-valuetext", box.value);
  };
  slider.addEventListener("input", () => {
    const value = rounded(toValue(Number(slider.value)), box.getAttribute("inputmode") === "numeric");
    const allowed = Math.min(high, Math.max(low, Number(value)));
    box.value = allowed === Number(value) ? value : String(allowed);
    slider.setAttribute("aria-valuetext", box.value);
  });
  box.addEventListener("input", follow);
  follow();
  box.after(slider);
}

// A file goes into the text box beside it, and is sent as text. Other encodings are refused: characters that
// stand in for unknown ones would make one device of two.
for (const offer of document.querySelectorAll("[data-file-into]")) {
  const box = document.getElementById(offer.dataset.fileInto);
  offer.hidden = false;
  offer.querySelector("input").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    const content = await file.arrayBuffer();
    try {
      box.value = new TextDecoder("utf-8", { fatal: true }).decode(content);
      box.setCustomValidity("");
    } catch {
      box.value = "";
      box.setCustomValidity("The file must be UTF-8 text.");
      box.reportValidity();
    }
  });
  box.addEventListener("input", () => box.setCustomValidity(""));
}

// Times in the reader's zone; in UTC on hover. Those in a series' own zone stay.
const READERS_ZONE = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
});

function localize(place) {
  for (const time of place.querySelectorAll("time[datetime]")) {
    if (!time.textContent.endsWith("UTC")) continue;
    time.title = time.textContent;
    time.textContent = READERS_ZONE.format(new Date(time.dateTime));
  }
}

localize(document);
document.body.addEventListener("htmx:afterSwap", (event) => localize(event.target.parentElement ?? document));

// Drop an answer if the element that asked for it has left the page: the form's values have changed, and a newer
// request is on its way. Listen on the target: it may have left as well, and its events do not reach the body.
function dropIfStale(event) {
  if (!event.detail.requestConfig.elt.isConnected) event.preventDefault();
}

document.body.addEventListener("htmx:beforeRequest", ({ detail: { target } }) => {
  target.addEventListener("htmx:beforeSwap", dropIfStale);
});
