// A client of the TypeScript SDK, by generation and era: v1, v2-legacy, v2-auto.
export async function connect(kind, command, args) {
  if (kind === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const client = new Client({ name: "typescript-v1", version: "1" });
    await client.connect(new StdioClientTransport({ command, args, env: { ...process.env } }));
    return client;
  }
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const options = kind === "v2-auto" ? { versionNegotiation: { mode: "auto" } } : {};
  const client = new Client({ name: "typescript-v2", version: "1" }, options);
  await client.connect(new StdioClientTransport({ command, args, env: { ...process.env } }));
  return client;
}
