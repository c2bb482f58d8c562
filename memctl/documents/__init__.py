"""Documents, searched together with memories: Markdown and text in `knowledge/`, and conversion to these."""
