// What a TypeScript client sees of the filesystem server behind the gateway; prints it.
// Usage: node gateway.mjs v1|v2-legacy|v2-auto FOLDER COMMAND ARGS…
import { connect } from "./connect.mjs";

const [kind, folder, command, ...args] = process.argv.slice(2);
const client = await connect(kind, command, args);
const call = (name, given) => client.callTool({ name, arguments: given });

async function recalled(ref) {
  const pages = [];
  for (let cursor; ; ) {
    const asked = { unit: "bytes", first: 0, last: 1 << 30, ...(cursor ? { cursor } : {}) };
    const reply = (await call("osiris_recall", { ref, op: "range", args: asked })).structuredContent;
    pages.push(reply.text);
    cursor = reply.next_cursor;
    if (!cursor) return pages.join("");
  }
}

const found = { protocol: client.getNegotiatedProtocolVersion?.() };
found.tools = (await client.listTools()).tools;
found.small = await call("read_text_file", { path: `${folder}/small.txt` });
found.big = await call("read_text_file", { path: `${folder}/big.log` });
found.recalled = await recalled("r1");
found.failed = [];
for (let n = 0; n < 4; n++) found.failed.push(await call("read_text_file", { path: `${folder}/none.txt` }));
found.blocked = await call("write_file", { path: `${folder}/tests/test_a.py`, content: "x" });
found.written = await call("write_file", { path: `${folder}/src/a.py`, content: "x" });
await client.close();
console.log(JSON.stringify(found));
