// A small agent with the vendors' own libraries: runs what the model asks for in a shell
// until it asks for nothing more. Usage: node sdk.mjs messages|chat|responses URL PROMPT KEY OTHERS
import { execSync } from "node:child_process";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const [wire, base, prompt, apiKey, others] = process.argv.slice(2);
const schema = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const run = (input) => execSync(input.command, { encoding: "utf8", maxBuffer: 1 << 28 });

const long = "x".repeat(3_000);

// send asks for what is no part of a conversation, ten at a time.
async function send(...kinds) {
  for (let sent = 0; sent < others; sent += 10)
    for (const kind of kinds)
      for (const reply of await Promise.all(Array.from({ length: 10 }, kind)))
        if (reply.data?.[0].embedding.length !== 200) throw new Error("a reply has no body");
}

async function messages() {
  const client = new Anthropic({ baseURL: base, apiKey, maxRetries: 0 });
  await send(() => client.messages.batches.create({ requests: [{ custom_id: long, params: {} }] }));
  const tools = [{ name: "bash", description: "Runs a command.", input_schema: schema }];
  const history = [{ role: "user", content: prompt }];
  for (;;) {
    const reply = await client.messages
      .stream({ model: "claude-sonnet-4-5", max_tokens: 4000, tools, messages: history })
      .finalMessage();
    history.push({ role: "assistant", content: reply.content });
    const calls = reply.content.filter((b) => b.type === "tool_use");
    if (calls.length === 0) return reply.content.map((b) => b.text ?? "").join("");
    history.push({
      role: "user",
      content: calls.map((c) => ({ type: "tool_result", tool_use_id: c.id, content: run(c.input) })),
    });
  }
}

async function chat() {
  const client = new OpenAI({ baseURL: base + "/v1", apiKey, maxRetries: 0 });
  await send(
    () => client.embeddings.create({ model: "e", input: long, encoding_format: "float" }),
    () => client.files.create({ file: new File([long], "long.txt"), purpose: "batch" }),
  );
  const tools = [{ type: "function", function: { name: "bash", description: "Runs a command.", parameters: schema } }];
  const history = [{ role: "user", content: prompt }];
  for (;;) {
    const reply = await client.chat.completions.create({ model: "gpt-5.5", tools, messages: history });
    const message = reply.choices[0].message;
    history.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const c of message.tool_calls)
      history.push({ role: "tool", tool_call_id: c.id, content: run(JSON.parse(c.function.arguments)) });
  }
}

async function responses() {
  const client = new OpenAI({ baseURL: base + "/v1", apiKey, maxRetries: 0 });
  const tools = [{ type: "function", name: "bash", description: "Runs a command.", parameters: schema, strict: false }];
  const history = [{ role: "user", content: prompt }];
  for (;;) {
    const stream = await client.responses.create({ model: "gpt-5.5", tools, input: history, store: false, stream: true });
    let reply;
    for await (const event of stream) if (event.type === "response.completed") reply = event.response;
    history.push(...reply.output);
    const calls = reply.output.filter((i) => i.type === "function_call");
    if (calls.length === 0) return reply.output.map((i) => i.content?.[0]?.text ?? "").join("");
    for (const c of calls)
      history.push({ type: "function_call_output", call_id: c.call_id, output: run(JSON.parse(c.arguments)) });
  }
}

console.log(await { messages, chat, responses }[wire]());
