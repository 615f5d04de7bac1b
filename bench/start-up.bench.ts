/**
 * From nothing to the first answered tools/list, as installed and as in a clone, against a Node process that does
 * nothing at all.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createHome, SOURCE_CLI, startGatewayProcess } from '../test/gateway-process.ts'
import { MODERN } from '../test/modern-request.ts'
import { rssMegabytes } from './http-load.ts'
import { buildProcesses } from './built-processes.ts'

await buildProcesses()

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const RUNS = 9

execFileSync(process.execPath, [`${ROOT}tools/build-gateway.mjs`])
const home = createHome()
const installed: number[] = []
const source: number[] = []
const bare: number[] = []
let memory = Number.NaN
// In turns, so that a busy neighbour is busy for all of them.
for (let run = 0; run < RUNS; run++) {
  bare.push(await timed(async () => void (await once(spawn(process.execPath, ['-e', '0']), 'exit'))))
  installed.push(await timed(() => startAndList(`${ROOT}dist/cli.js`)))
  source.push(await timed(() => startAndList(SOURCE_CLI)))
}
home.remove()
row('an empty Node process', bare)
row('Hearthbus as installed', installed)
row('Hearthbus from a clone', source)
process.stdout.write(`  resident memory after the first tools/list: ${memory.toFixed(0)} MB\n`)

function row(label: string, times: readonly number[]): void {
  const [first = Number.NaN] = times
  const ratio = median(times) / median(bare)
  process.stdout.write(
    `  ${label.padEnd(26)} median ${median(times).toFixed(0).padStart(5)} ms  best ${Math.min(...times)
      .toFixed(0)
      .padStart(5)} ms  first ${first.toFixed(0).padStart(5)} ms  ×${ratio.toFixed(1)}\n`,
  )
}

async function startAndList(cli: string): Promise<void> {
  const gateway = await startGatewayProcess(home, [], cli)
  await listTools(gateway.url)
  memory = rssMegabytes(gateway.pid)
  await gateway.stop()
}

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
