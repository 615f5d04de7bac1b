/**
 * From nothing to the first answered tools/list, against a Node process that does nothing at all.
 *
 * Does I/O.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createHome, startGatewayProcess } from '../test/gateway-process.ts'
import { MODERN } from '../test/modern-request.ts'
import { rssMegabytes } from './http-load.ts'

const RUNS = 7
const home = createHome()
const ours: number[] = []
const bare: number[] = []
let memory = Number.NaN
for (let run = 0; run < RUNS; run++) {
  bare.push(await timed(async () => void (await once(spawn(process.execPath, ['-e', '0']), 'exit'))))
  const began = performance.now()
  const gateway = await startGatewayProcess(home)
  await listTools(gateway.url)
  ours.push(performance.now() - began)
  memory = rssMegabytes(gateway.pid)
  await gateway.stop()
}
home.remove()
process.stdout.write(
  `  Hearthbus, to the first tools/list   ${median(ours).toFixed(0)} ms (first run ${(ours[0] ?? Number.NaN).toFixed(0)} ms)\n`,
)
process.stdout.write(
  `  an empty Node process                ${median(bare).toFixed(0)} ms   → ×${(median(ours) / median(bare)).toFixed(1)}\n`,
)
process.stdout.write(`  resident memory after it             ${memory.toFixed(0)} MB\n`)

async function listTools(url: string): Promise<void> {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN,
      'mcp-method': 'tools/list',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: {
        _meta: { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientCapabilities': {} },
      },
    }),
  })
  const { result } = (await response.json()) as { result: { tools: unknown[] } }
  if (result.tools.length === 0) throw new Error('no tools')
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
