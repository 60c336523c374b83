// Package openai reads and writes the two wire formats of OpenAI and of the many
// servers that speak them: Chat Completions and Responses.
//
// # Which function
//
//   - A request came from a client and goes on to its provider, perhaps with parts of
//     its history folded: [DecodeChat] or [DecodeResponses], then Splice.
//   - There is no original, because the program speaks for itself: [EncodeChat] or
//     [EncodeResponses].
//   - An answer comes back: [DecodeChatReply] or [DecodeResponsesReply] for a whole one,
//     [NewChatRecorder] or [NewResponsesRecorder] beside a stream that is passed on.
//   - The program wants an answer and nothing else: [ChatClient] or [ResponsesClient],
//     which are [model.Generator]s with retries, limits and typed errors.
//   - Is it legal: Check, on either request. Each violation is one rule, in the provider's
//     own words where they are known.
//   - A session needs the wire's codec and check: [Chat] or [Responses].
//
// # Bytes
//
// Decoding notes where each message and block lies. Nothing
// large is copied or unescaped: blocks share the body's memory, so it must not change
// afterwards. Splicing copies everything that a view does not change byte for
// byte: key order, space, number forms, escapes, unknown members, duplicate keys, halves
// of surrogate pairs. Of duplicate keys the last one counts.
//
// Decoding refuses only what is not JSON or has no messages. A request that the provider will
// refuse for other reasons is decoded, its odd parts as opaque blocks, and passes through to
// the provider's own error.
//
// # Chat Completions
//
// Each element of messages is a message. An assistant message holds, in this order,
// thinking (reasoning_content or reasoning, which some servers send and want back), its
// content, its refusal and its tool calls. A tool message is one tool result. So is a message
// of role function, which answers a call of the form before tools, function_call: these are
// called by their names, and their arguments stay as they are.
//
// An assistant message with calls must be followed by a tool message for each of them and
// nothing else.
//
// # Responses
//
// Each item of input is a message, so one answer of the model is usually several:
//
//   - message: its role and content; input that is a string is one user message.
//   - reasoning: thinking, with the encrypted content as signature.
//   - function_call, custom_tool_call, local_shell_call, shell_call, apply_patch_call,
//     computer_call: a tool call. Their outputs are tool results.
//   - everything else is opaque. It is the model's (web_search_call, mcp_call,
//     compaction, item_reference, …) except mcp_approval_response and compaction_trigger,
//     which are the user's, additional_tools and configuration_update, which are the
//     developer's, and outputs, which are a tool's.
//
// Calls and outputs belong together by call_id, wherever they are; so do tool_search_call, program and their
// outputs, and an mcp_approval_request and its response. An output whose call came as an item_reference belongs
// to the references before it. Reasoning depends on its neighbours: see [ResponsesRequest.Splice].
//
// Edits fit the item's form: text for a shell's output becomes the stdout of one output
// with the outcome of the original, text for a shell call its only command, text for a
// patch its diff. The result of a computer_call is a screenshot and cannot be edited.
//
// A request with previous_response_id or conversation shows only the newest part of its
// conversation ([ResponsesRequest.Partial]) and should pass untouched.
package openai
