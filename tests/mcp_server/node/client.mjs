// A client of the TypeScript SDK: node client.mjs v1|v2 MODE URL, or node client.mjs v1|v2 MODE - COMMAND ARGUMENT…
// Calls tools, reads a resource and gets the prompt; says what it was told as one line of JSON.
const [kind, mode, where, command, ...args] = process.argv.slice(2);

const [{ Client }, { StreamableHTTPClientTransport }, { StdioClientTransport }] =
  kind === "v1"
    ? await Promise.all([
        import("@modelcontextprotocol/sdk/client/index.js"),
        import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
        import("@modelcontextprotocol/sdk/client/stdio.js"),
      ])
    : await Promise.all([
        import("@modelcontextprotocol/client"),
        import("@modelcontextprotocol/client"),
        import("@modelcontextprotocol/client/stdio"),
      ]);

const headers = process.env.HOLDFAST_TOKEN ? { Authorization: `Bearer ${process.env.HOLDFAST_TOKEN}` } : {};
const transport =
  where === "-"
    ? new StdioClientTransport({ command, args, env: process.env })
    : new StreamableHTTPClientTransport(new URL(where), { requestInit: { headers } });
const versionNegotiation = { mode: mode === "legacy" ? "legacy" : "auto" };
const client = new Client({ name: "holdfast-test", version: "1.0.0" }, kind === "v1" ? {} : { versionNegotiation });
await client.connect(transport);

const call = (name, given) => client.callTool({ name, arguments: given });
const { tools } = await client.listTools();
const made = await call("create_session", { userId: "ada" });
const sessionId = made.structuredContent.sessionId;
const note = { sessionId, type: "note", details: { text: "green apples" }, idempotencyKey: "once" };
const first = await call("append_action", note);
const again = await call("append_action", note);
const found = await call("search_events", { query: "green", sessionId });
const refused = await call("get_state", { sessionId: "nope" });
const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: `holdfast://sessions/${sessionId}/state` });
const { messages } = await client.getPrompt({ name: "resume", arguments: { sessionId } });
const revision =
  kind === "v2" ? client.getNegotiatedProtocolVersion() : (transport.protocolVersion ?? transport._protocolVersion ?? null);

console.log(
  JSON.stringify({
    revision,
    server: client.getServerVersion()?.name,
    tools: tools.map((tool) => tool.name),
    typed: tools.every((tool) => tool.inputSchema && tool.outputSchema && tool.annotations),
    same: first.structuredContent.seq === again.structuredContent.seq,
    hits: found.structuredContent.hits.length,
    refused: [refused.isError, refused.content[0].text],
    listed: resources.some((resource) => resource.uri === `holdfast://sessions/${sessionId}`),
    state: JSON.parse(contents[0].text).sessionId === sessionId,
    messages: messages.length,
  }),
);
await client.close();
