"""Renderers of sections: terminal, Markdown, HTML pages, and JUnit for continuous integration."""
