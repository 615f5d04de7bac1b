/**
 * What a tool call costs over HTTP: our whole chain (lock, validate, guard, route, two ledger events on the disk)
 * against the bare SDK, which does none of that, and against a raw echo.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createHome, startGatewayProcess } from '../test/gateway-process.ts'
import { load, rssMegabytes } from './http-load.ts'
import type { LoadResult } from './http-load.ts'
import { buildProcesses } from './built-processes.ts'

await buildProcesses()

const WARM_UP_MS = 2_000
const MEASURED_MS = 3_000
const ROUNDS = 2
const CALLERS = [1, 16, 64]

interface Contender {
  readonly name: string
  readonly url: string
  readonly pid: number
  readonly stop: () => Promise<unknown>
}

const home = createHome('guard:\n  callsPerMinute: 100000000\n')
const contenders: readonly Contender[] = [
  await gateway(),
  await farEnd('bare SDK v2', 'sdk-server.ts'),
  await farEnd('raw node:http echo', 'raw-server.ts'),
]
try {
  for (const { url, pid } of contenders) await load(url, pid, { callers: 16, ms: WARM_UP_MS, tool: 'server_ping' })
  for (const callers of CALLERS) print(callers, await measure(callers))
  process.stdout.write(
    `\nresident memory: ${contenders.map(({ name, pid }) => `${name} ${rssMegabytes(pid).toFixed(0)} MB`).join(', ')}\n`,
  )
} finally {
  for (const contender of contenders) await contender.stop()
  home.remove()
}

/** Rounds are interleaved and the best of each is kept: a neighbour who is busy for a second hits nobody's figure. */
async function measure(callers: number): Promise<readonly LoadResult[]> {
  const best: LoadResult[] = []
  for (let round = 0; round < ROUNDS; round++)
    for (const [index, { url, pid }] of contenders.entries()) {
      const result = await load(url, pid, { callers, ms: MEASURED_MS, tool: 'server_ping' })
      const known = best[index]
      if (known === undefined || result.perSecond > known.perSecond) best[index] = result
    }
  return best
}

function print(callers: number, results: readonly LoadResult[]): void {
  const [sdk, echo] = [results[1]?.perSecond ?? Number.NaN, results[2]?.perSecond ?? Number.NaN]
  process.stdout.write(`\n${callers} callers\n`)
  for (const [index, { perSecond, p50Ms, p99Ms, cpuMs, callerCpuMs, writtenBytes, failures }] of results.entries())
    process.stdout.write(
      `  ${(contenders[index]?.name ?? '').padEnd(22)} ${perSecond.toFixed(0).padStart(7)}/s  ×${(perSecond / sdk).toFixed(2)} of the bare SDK  ×${(perSecond / echo).toFixed(2)} of the echo   p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms  cpu ${cpuMs.toFixed(3)} ms (callers ${callerCpuMs.toFixed(3)} ms)  ${writtenBytes.toFixed(0)} B written${failures > 0 ? `  ${failures} FAILED` : ''}\n`,
    )
}

async function gateway(): Promise<Contender> {
  const { url, pid, stop } = await startGatewayProcess(home)
  return { name: 'Hearthbus, durable', url, pid, stop }
}

async function farEnd(name: string, file: string): Promise<Contender> {
  const path = fileURLToPath(new URL(`far-end/${file}`, import.meta.url))
  const child: ChildProcess = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'inherit'] })
  if (child.stdout === null) throw new Error('no stdout')
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  return { name, url: line.toString().trim(), pid: child.pid ?? -1, stop }
}
