// One session of a TypeScript client: write, read, fail, hand over, pick up; prints what came back.
// Usage: node session.mjs v1|v2-legacy|v2-auto COMMAND ARGS…
import { connect } from "./connect.mjs";

const [kind, command, ...args] = process.argv.slice(2);

const client = await connect(kind, command, args);
const call = (name, given) => client.callTool({ name, arguments: given });
const found = {
  protocol: client.getNegotiatedProtocolVersion?.(), // the first generation does not say
  instructions: client.getInstructions(),
};
found.tools = (await client.listTools()).tools.map((tool) => tool.name);
found.written = await call("memory_write", { scope: "session", key: "k", value: { n: 1, text: "héé" } });
found.read = await call("memory_read", { scope: "session", key: "k" });
found.refused = await call("memory_write", { scope: "session", key: "k", value: 2, expected_version: 9 });
found.created = await call("handoff_create", { summary: "go on", next: ["start"], pins: ["session/k"], to: "stranger" });
found.taken = await call("handoff_pickup", {});
found.resource = (await client.readResource({ uri: "memory://session/k@1" })).contents[0].text;
found.prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
await client.close();
console.log(JSON.stringify(found));
