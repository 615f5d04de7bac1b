/**
 * The caller's process of the mesh bench: keeps as many calls in flight as it is told, for as long as it is told, and
 * says what it saw.
 */
import { startNear } from '../mesh-ends.ts'
import type { CallOnce, Ends } from '../mesh-ends.ts'

/** What the bench asks for. */
export interface Load {
  readonly inFlight: number
  readonly ms: number
}

export interface Seen {
  readonly calls: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** This process's own. */
  readonly cpuMicros: number
}

const BODY = { text: 'x'.repeat(90) }

const call = await startNear(JSON.parse(process.argv[2] ?? '') as Ends, JSON.parse(process.argv[3] ?? '{}') as object)
process.send?.('ready')
process.on('message', (said) => {
  if (said === 'stop') process.exit()
  void load(call, said as Load).then((seen) => process.send?.(seen))
})

async function load(callOnce: CallOnce, { inFlight, ms }: Load): Promise<Seen> {
  const took: number[] = []
  const startedMs = performance.now()
  const before = process.cpuUsage()
  const endMs = startedMs + ms
  const caller = async (): Promise<void> => {
    for (let beginMs = performance.now(); beginMs < endMs;) {
      await callOnce(BODY)
      const nowMs = performance.now()
      took.push(nowMs - beginMs)
      beginMs = nowMs
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  const seconds = (performance.now() - startedMs) / 1_000
  const { user, system } = process.cpuUsage(before)
  const sorted = Float64Array.from(took).sort()
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return {
    calls: took.length,
    perSecond: took.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    cpuMicros: user + system,
  }
}
