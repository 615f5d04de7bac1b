/** Power cuts: a gateway that is killed under load again and again, and looked at after each start. */
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { traceIdToUlid } from '../src/core/ids.ts'
import { createHome, runCommandSync, startGatewayProcess } from './gateway-process.ts'
import type { Home } from './gateway-process.ts'
import { callTool, newTraceId } from './modern-request.ts'
import { recordedActions } from './recorded-calls.ts'

export interface PowerCuts {
  readonly kills: number
  readonly callers: number
  readonly longestLoadMs: number
  /** No further cut is begun after this. */
  readonly budgetMs: number
}

export interface Aftermath {
  readonly kills: number
  readonly acknowledged: number
  readonly aborted: number
  /** What a start found that must not be; empty when all is well. */
  readonly findings: readonly string[]
}

export async function cutPower({ kills, callers, longestLoadMs, budgetMs }: PowerCuts): Promise<Aftermath> {
  const home = createHome('guard:\n  callsPerMinute: 1000000\n  writesPerMinute: 1000000\n')
  const began = performance.now()
  const acknowledged = new Set<string>()
  const findings: string[] = []
  let done = 0
  try {
    while (done < kills && performance.now() - began < budgetMs) {
      const gateway = await startGatewayProcess(home)
      findings.push(...inspect(home, acknowledged))
      keepCheckpoint(home)
      const dark = new AbortController()
      const running = load(gateway.url, callers, dark.signal)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * longestLoadMs))
      await gateway.kill()
      dark.abort()
      for (const traceId of await running) acknowledged.add(traceId)
      done++
    }
    const gateway = await startGatewayProcess(home)
    findings.push(...inspect(home, acknowledged))
    const aborted = [...outcomes(home).values()].filter((outcome) => outcome === 'aborted').length
    if ((await gateway.stop()) !== 0) findings.push('the last gateway did not stop as it should')
    return { kills: done, acknowledged: acknowledged.size, aborted, findings }
  } finally {
    home.remove()
  }
}

/** Callers that go on until the line goes dead, reads and records in turn; the traces of what they were answered. */
async function load(url: string, callers: number, until: AbortSignal): Promise<ReadonlySet<string>> {
  const acknowledged = new Set<string>()
  const caller = async (): Promise<void> => {
    for (let turn = 0; !until.aborted; turn++) {
      const traceId = newTraceId()
      try {
        const { status } =
          turn % 2 === 0
            ? await callTool(url, 'task_create', { title: `turn ${turn}` }, traceId)
            : await callTool(url, 'server_ping', {}, traceId)
        if (status === 200) acknowledged.add(traceIdToUlid(traceId))
      } catch {
        return
      }
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return acknowledged
}

/** The gateway has taken no other call yet: whatever is open was left open by a dead one. */
function inspect(home: Home, acknowledged: ReadonlySet<string>): readonly string[] {
  const recorded = outcomes(home)
  const missing = [...acknowledged].filter((traceId) => recorded.get(traceId) !== 'ok')
  const open = [...recorded].filter(([, outcome]) => outcome === 'running')
  // By the command, beside the gateway: a long ledger takes longer than a caller of a tool waits in silence.
  const kept = existsSync(keptPath(home)) ? ['--checkpoint', keptPath(home)] : []
  const { status, text } = runCommandSync(home, 'ledger', 'verify', ...kept)
  return [
    ...missing.map((traceId) => `${traceId} was acknowledged and is ${recorded.get(traceId) ?? 'missing'}`),
    ...open.map(([traceId]) => `${traceId} is still running after a restart`),
    ...findDoubled(home).map((traceId) => `${traceId} is on record twice`),
    ...(status === 0 ? [] : [`the ledger does not verify: ${text}`]),
  ]
}

/** Each call of this load has a trace of its own. */
function findDoubled(home: Home): readonly string[] {
  const seen = new Set<string>()
  return recordedActions(home.data)
    .map(({ trace_id: traceId }) => traceId)
    .filter((traceId) => seen.size === seen.add(traceId).size)
}

/** What this node has signed once it must extend for ever. */
function keepCheckpoint(home: Home): void {
  const signed = join(home.data, 'checkpoint.signed')
  if (existsSync(signed)) copyFileSync(signed, keptPath(home))
}

function keptPath(home: Home): string {
  return join(home.data, 'kept-elsewhere')
}

function outcomes(home: Home): Map<string, string> {
  return new Map(recordedActions(home.data).map(({ trace_id, outcome }) => [trace_id, outcome]))
}
