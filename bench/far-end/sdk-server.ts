/**
 * The bare SDK v2: its own handler over a low-level server with one tool that does nothing. What we are held against.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { Server, createMcpHandler } from '@modelcontextprotocol/server'

const handler = createMcpHandler(
  () => {
    const server = new Server({ name: 'bare', version: '1.0.0' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'server_ping', inputSchema: { type: 'object', properties: {} } }],
    }))
    server.setRequestHandler('tools/call', () => {
      const data = { ok: true, data: { status: 'ok' } }
      return { content: [{ type: 'text', text: JSON.stringify(data) }], structuredContent: data }
    })
    return server
  },
  { responseMode: 'json' },
)
const nodeHandler = toNodeHandler(handler)
const server = createServer(
  (request, response) => void nodeHandler(request as Parameters<typeof nodeHandler>[0], response),
)
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`),
)
