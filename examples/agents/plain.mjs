// An agent for Node 18 and later: function calling over the addresses that R-Eval passes to each program.

const env = process.env;

async function post(url, body) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      Authorization: `Bearer ${env.OPENAI_API_KEY}`,
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

const mcp = async (method, params) => (await post(env.R_EVAL_MCP_URL, { jsonrpc: "2.0", id: 1, method, params })).result;

const listed = await mcp("tools/list", {});
const tools = listed.tools.map(({ name, description, inputSchema }) => ({
  type: "function",
  function: { name, description, parameters: inputSchema },
}));
const messages = [
  { role: "system", content: `Look things up with the tools, then answer. ${env.R_EVAL_INSTRUCTION}` },
  { role: "user", content: env.R_EVAL_QUESTION },
];
for (;;) {
  const completion = await post(`${env.OPENAI_BASE_URL}/chat/completions`, { model: env.OPENAI_MODEL, messages, tools });
  const { message } = completion.choices[0];
  messages.push(message);
  if (!message.tool_calls) break;
  for (const { id, function: call } of message.tool_calls) {
    const found = await mcp("tools/call", { name: call.name, arguments: JSON.parse(call.arguments) });
    messages.push({ role: "tool", tool_call_id: id, content: found.content.map((part) => part.text).join("\n") });
  }
}
console.log(JSON.stringify({ answer: messages.at(-1).content }));
