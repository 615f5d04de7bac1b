/**
 * Devices bench: how many devices a gateway holds, how fast they come, what a call costs, and what a mass exit leaves.
 *
 * Three processes: the gateway, a bare `ws` server that only answers hello, and the devices. HEARTHBUS_BENCH_DEVICES
 * and HEARTHBUS_BENCH_SECONDS make it smaller; by default 2,000 devices, half WebSocket and half MQTT, and a minute of
 * calls.
 *
 * Memory of an idle device is what one more of them adds to the resident set: the growth from the first ones to all
 * of them, after the collector has given back what it holds back. What a process pays once, such as compiled code, is in
 * the last lines instead. Both servers run with the same settings and are measured in the same way.
 */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoadResult, Memory } from './far-end/devices-peer.ts'

const PEER = fileURLToPath(new URL('far-end/devices-peer.ts', import.meta.url))
const CALLS_PER_SECOND = 200
/**
 * Of glibc: every read of a socket takes 64 KiB, most of which is given back at once. Taken from the heap, the rest of it
 * lies between what stays, and keeps the heap from shrinking by chance.
 */
const RETURNS_MEMORY = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '65536',
  MALLOC_TOP_PAD_: '0',
}

export class Peer {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  readonly #started: Promise<unknown>
  #next = 1
  onCode: (code: string) => void = () => undefined

  constructor(
    role: 'gateway' | 'bare' | 'devices' | 'models' | 'pipe',
    { backend, env = {} }: { readonly backend?: string; readonly env?: Readonly<Record<string, string>> } = {},
  ) {
    this.#child = fork(PEER, [role, ...(backend === undefined ? [] : [backend])], {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, ...env },
    })
    this.#started = new Promise((resolve, reject) => this.#waiting.set(0, { resolve, reject }))
    this.#child.on('message', (message: { id?: number; value?: never; error?: string; code?: string }) => {
      if (message.code !== undefined) this.onCode(message.code)
      const waiting = message.id === undefined ? undefined : this.#waiting.get(message.id)
      if (waiting === undefined) return
      this.#waiting.delete(message.id ?? 0)
      if (message.error === undefined) waiting.resolve(message.value as never)
      else waiting.reject(new Error(message.error))
    })
  }

  async ask<Value>(ask: string, ...args: readonly unknown[]): Promise<Value> {
    await this.#started
    const id = this.#next++
    return new Promise<Value>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#child.send({ ask, id, args })
    })
  }

  end(): void {
    this.#child.kill()
  }
}

export async function run(): Promise<void> {
  const count = Number(process.env['HEARTHBUS_BENCH_DEVICES'] ?? 2_000)
  const seconds = Number(process.env['HEARTHBUS_BENCH_SECONDS'] ?? 60)
  const half = Math.floor(count / 2)
  const say = (text: string) => process.stdout.write(`${text}\n`)
  const env = RETURNS_MEMORY
  const [gateway, bare, devices] = [new Peer('gateway', { env }), new Peer('bare', { env }), new Peer('devices')]
  try {
    say(`devices: ${count} (half WebSocket, half MQTT), ${CALLS_PER_SECOND} calls/s for ${seconds} s`)
    const bareUrl = await bare.ask<string>('url')
    // The first ones do not count: they fill the compiler's and the database's caches.
    const few = Math.ceil(Math.max(half / 5, Math.min(500, half / 2)))
    const many = half - few
    await devices.ask('greet', few, bareUrl)
    const bareFew = await bare.ask<Memory>('memory')
    const bareCost = await cost(bare, many, () => devices.ask('greet', many, bareUrl))
    const bareAll = await bare.ask<Memory>('memory')
    const bareRss = bareAll.rssBytes - bareFew.rssBytes
    const bareHeap = bareAll.heapBytes - bareFew.heapBytes
    say(`bare ws          ${bareCost}, ${perDevice(bareFew, bareAll, many)}`)
    await devices.ask('hangUp')

    const ota = await gateway.ask<string>('ota')
    const before = await gateway.ask<Memory>('memory')
    const connected = async (count: number) =>
      until(async () => (await gateway.ask<{ connected: number }>('stats')).connected === count)
    const enrol = async (transport: string, first: number) => {
      devices.onCode = (code) => void gateway.ask('approve', code, transport)
      const boot = async (count: number, from: number) => {
        await devices.ask('enrol', ota, count, from)
        await until(async () => (await gateway.ask<number>('ready')) === from - 1 + count)
      }
      await boot(few, first)
      const start = await gateway.ask<Memory>('memory')
      const rate = await cost(gateway, many, () => boot(many, first + few))
      const after = await gateway.ask<Memory>('memory')
      const rss = (after.rssBytes - start.rssBytes) / bareRss
      const heap = (after.heapBytes - start.heapBytes) / bareHeap
      const memory = `${perDevice(start, after, many)}, × ${rss.toFixed(2)} and × ${heap.toFixed(2)} of bare`
      say(`${transport.padEnd(16)} ${rate} from first boot to listed tools, ${memory}`)
    }
    await enrol('websocket', 1)
    await devices.ask('sleep')
    await connected(0)
    const asleep = await gateway.ask<Memory>('memory')
    const greeted = await cost(gateway, half, () => devices.ask('greet', half))
    say(`  the same hello ${greeted}, ${perDevice(asleep, await gateway.ask('memory'), half)} more than asleep`)
    await devices.ask('hangUp')
    await connected(0)
    const back = await cost(gateway, half, async () => {
      await devices.ask('wake')
      await until(async () => (await gateway.ask<number>('ready')) === half)
    })
    say(`  all come back  ${back} from hello to listed tools`)
    await enrol('mqtt', 1 + half)

    const began = await gateway.ask<number>('cpuMs')
    const load = await gateway.ask<LoadResult>('load', { seconds, perSecond: CALLS_PER_SECOND })
    say(`calls            ${loadText(load, (await gateway.ask<number>('cpuMs')) - began)}`)
    const loaded = await gateway.ask<Memory>('memory')
    await devices.ask('cut', Math.min(1_000, half))
    await until(async () => (await gateway.ask<{ connected: number }>('stats')).connected < half * 2)
    await until(async () => (await gateway.ask<number>('ready')) === half * 2)
    const { pendingCalls } = await gateway.ask<{ pendingCalls: number }>('stats')
    const after = await gateway.ask<Memory>('memory')
    say(
      `mass disconnect  ${pendingCalls} calls left, heap ${mib(after.heapBytes - loaded.heapBytes)} MiB more than before`,
    )
    say(`gateway          ${mib(after.rssBytes)} MiB resident, ${mib(before.rssBytes)} MiB when empty`)
    await devices.ask('stop')
    await connected(0)
    say(
      `everybody gone   heap ${mib((await gateway.ask<Memory>('memory')).heapBytes - before.heapBytes)} MiB above empty`,
    )
  } finally {
    for (const peer of [gateway, bare, devices]) peer.end()
  }
}

/** How fast, which depends on what else the machine does, and how much of the processor, which does not. */
async function cost(peer: Peer, count: number, work: () => Promise<unknown>): Promise<string> {
  const start = performance.now()
  const began = await peer.ask<number>('cpuMs')
  await work()
  const each = ((await peer.ask<number>('cpuMs')) - began) / count
  return `${Math.round((count * 1_000) / (performance.now() - start))}/s, ${each.toFixed(2)} ms of CPU each`
}

export function loadText({ calls, failed, crossed, p50Ms, p99Ms }: LoadResult, cpuMs: number): string {
  const times = `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`
  return `${calls} made, ${failed} failed, ${crossed} crossed, ${times}, ${(cpuMs / calls).toFixed(3)} ms of CPU each`
}

export function perDevice(before: Memory, after: Memory, count: number): string {
  const kib = (bytes: number) => (bytes / count / 1_024).toFixed(1)
  return `${kib(after.rssBytes - before.rssBytes)} KiB RSS and ${kib(after.heapBytes - before.heapBytes)} KiB heap each`
}

export async function until(fits: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 600_000
  while (!(await fits())) {
    if (performance.now() > deadline) throw new Error('the devices did not get there in ten minutes')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

export function mib(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1)
}
