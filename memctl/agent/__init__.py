"""What an agent uses: tools, an MCP server, several users' memories side by side."""
