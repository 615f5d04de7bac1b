/**
 * Raw node:http: reads JSON, writes JSON, knows nothing. The physical limit on this machine.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const { id } = JSON.parse(Buffer.concat(parts).toString()) as { id: number }
    const data = { ok: true, data: { status: 'ok' } }
    const result = {
      content: [{ type: 'text', text: JSON.stringify(data) }],
      structuredContent: data,
      resultType: 'complete',
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
})
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`),
)
