"""Charts: described once, drawn by the server as SVG, and by plotly.js for readers who explore it.

`description` states what a chart shows, without a colour or a pixel. `svg` draws it, `plotly` describes it to
the script, `shown` gives a template both.
"""
