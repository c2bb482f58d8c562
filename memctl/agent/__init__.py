"""For agents: tools, an MCP server, framework adapters, memories of several users together."""
