/**
 * Unescaped RPC: recovers an answer from a frame that is not valid JSON because the firmware does not escape texts.
 *
 * All firmware versions insert error texts, and the name in `nextCursor`, between quotes without escaping. One quote,
 * backslash or line break in them makes the whole frame unreadable, and the caller would wait until its time-out in
 * vain.
 *
 *   …"payload":{"jsonrpc":"2.0","id":7,"error":{"message":"Unknown tool: a"b"}}}
 *   …"payload":{"jsonrpc":"2.0","id":8,"result":{"tools":[…],"nextCursor":"a"b"}}}
 */
import { parseBoundedJson } from './bounded-json.ts'
import { MAX_RPC_ID, cutRpcErrorText } from './rpc.ts'
import type { RpcMessage } from './rpc.ts'

const MCP_MARK = /"type"\s*:\s*"mcp"/
const ERROR_HEAD = /"id"\s*:\s*(\d{1,10})\s*,\s*"error"\s*:\s*\{/
const LIST_HEAD = /"id"\s*:\s*(\d{1,10})\s*,\s*"result"\s*:\s*\{\s*"tools"\s*:\s*/
const CODE = /^\s*"code"\s*:\s*(-?\d{1,9})\s*,/
const MESSAGE = /^\s*"message"\s*:\s*"/
const CURSOR = '],"nextCursor":"'
/** The quote and braces that close message, error, payload and envelope; the last brace may be missing. */
const TAIL = /"\s*\}{1,3}\s*$/

/** Called with text that failed to parse; `undefined` when no answer can be recognised in it. */
export function recoverUnescapedRpc(text: string): RpcMessage | undefined {
  if (!MCP_MARK.test(text)) return undefined
  return recoverError(text) ?? recoverList(text)
}

function recoverError(text: string): RpcMessage | undefined {
  const head = ERROR_HEAD.exec(text)
  const id = Number(head?.[1])
  if (head === null || id > MAX_RPC_ID) return undefined
  let body = text.slice(head.index + head[0].length)
  const code = CODE.exec(body)
  if (code !== null) body = body.slice(code[0].length)
  const opening = MESSAGE.exec(body)
  const message = opening === null ? body : body.slice(opening[0].length).replace(TAIL, '')
  return {
    kind: 'error',
    id,
    error: { code: code === null ? undefined : Number(code[1]), message: cutRpcErrorText(message) },
  }
}

function recoverList(text: string): RpcMessage | undefined {
  const head = LIST_HEAD.exec(text)
  const id = Number(head?.[1])
  if (head === null || id > MAX_RPC_ID) return undefined
  const start = head.index + head[0].length
  // Searches for the last occurrence: the same characters inside of a description are escaped and cannot match.
  const end = text.lastIndexOf(CURSOR)
  if (end < start) return undefined
  const tools = parseBoundedJson(text.slice(start, end + 1))
  if (tools === undefined) return undefined
  const nextCursor = text
    .slice(end + CURSOR.length)
    .replace(TAIL, '')
    .toWellFormed()
  return { kind: 'result', id, result: { tools, nextCursor } }
}
