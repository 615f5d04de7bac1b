/**
 * Mutation: frames that are almost right. Seeded, so that what breaks once breaks again.
 */
const SEEDS: readonly string[] = [
  '{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket","audio_params":{"sample_rate":16000}}',
  '{"type":"hello","version":3,"features":{"mcp":true},"transport":"udp"}',
  '{"session_id":"S","type":"mcp","payload":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"2.4.2"}}}}',
  '{"session_id":"S","type":"mcp","payload":{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"volume":{"type":"integer","minimum":0,"maximum":100}},"required":["volume"]}}],"nextCursor":"u"}}}',
  '{"session_id":"S","type":"mcp","payload":{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"true"}],"isError":false}}}',
  String.raw`{"session_id":"S","type":"mcp","payload":{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"image","image":"{\"type\":\"image\",\"mimeType\":\"image/jpeg\",\"data\":\"/9j/\"}"}],"isError":false}}}`,
  '{"session_id":"S","type":"mcp","payload":{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"Unknown tool: x"}}}',
  '{"session_id":"S","type":"mcp","payload":{"jsonrpc":"2.0","id":6,"error":{"message":"a"b"}}}',
  '{"session_id":"S","type":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/state_changed","params":{"newState":"idle"}}}',
  '{"session_id":"S","type":"goodbye"}',
  '{"session_id":"S","type":"listen","state":"start","mode":"auto"}',
  '{"type":"ping"}',
  // Parses, and would overflow the stack of whoever writes it out again.
  `{"type":"mcp","payload":{"jsonrpc":"2.0","id":7,"result":{"content":[${'{"a":['.repeat(8_000)}${']}'.repeat(8_000)}]}}}`,
  '{"type":"mcp","payload":{"jsonrpc":"2.0","method":"n","params":{"a":1e999,"b":"\\ud800"}}}',
]

const SPLICES: readonly string[] = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  'null',
  '-1',
  '1e999',
  '99999999999',
  '"__proto__":',
  '"constructor":',
  '\u0000',
  '\uD800',
  '💥',
  '[[[[[[[[',
  '"id":7,"error":{"message":"',
  'nextCursor',
  '"type":"mcp"',
]

export function mutatedFrame(random: () => number): string {
  const pick = (below: number) => Math.floor(random() * below)
  let text = SEEDS[pick(SEEDS.length)] ?? ''
  // Ids that a session is really waiting for are the ones that lead somewhere.
  if (random() < 0.5) text = text.replace(/"id":\d+/, `"id":${1 + pick(40)}`)
  for (let round = pick(5); round > 0; round--) {
    const at = pick(text.length + 1)
    const kind = pick(6)
    if (kind === 0) text = text.slice(0, at)
    else if (kind === 1) text = text.slice(0, at) + (SPLICES[pick(SPLICES.length)] ?? '') + text.slice(at)
    else if (kind === 2) text = text.slice(0, at) + text.slice(at + 1 + pick(8))
    else if (kind === 3) text = text.slice(0, at) + String.fromCharCode(pick(0xff_ff)) + text.slice(at + 1)
    else if (kind === 4) text = text.slice(0, at) + text.slice(pick(text.length))
    else text = text.replaceAll('"tools":[{', `"tools":[${'{"name":"x"},'.repeat(pick(20))}{`)
  }
  return text
}

export function mutatedBytes(bytes: Uint8Array, random: () => number): Uint8Array {
  const copy = Uint8Array.from(bytes)
  for (let round = 1 + Math.floor(random() * 6); round > 0; round--)
    copy[Math.floor(random() * copy.length)] = Math.floor(random() * 256)
  return random() < 0.3 ? copy.subarray(0, Math.floor(random() * copy.length)) : copy
}
