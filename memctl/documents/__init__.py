"""Documents that are asked together with memories: Markdown and text in `knowledge/`, and how others become that."""
