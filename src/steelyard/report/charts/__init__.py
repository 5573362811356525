"""Charts of pages and notebooks as SVG: what a chart shows, its layout, and how it is drawn."""
