"""Charts: described once, drawn by the server as SVG, and by plotly.js for those who look closely.

`description` says what a chart shows, without a colour or a pixel. `svg` draws it, `plotly` says it to the
script, `shown` gives a template both.
"""
