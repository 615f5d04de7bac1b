/** HTTP load: so many callers in a closed loop, each with a connection of its own, for so long. */
import { Agent, request } from 'node:http'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'

export interface LoadResult {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** The server's own time on a processor, per request. */
  readonly cpuMs: number
  /** The same of the callers: where it is near the time between two answers, they are what limits the rate. */
  readonly callerCpuMs: number
  /** What the server gave to files, per request: all that it wrote but its answers. */
  readonly writtenBytes: number
  readonly failures: number
}

const MODERN = '2026-07-28'

export async function load(
  url: string,
  pid: number,
  options: { readonly callers: number; readonly ms: number; readonly tool: string },
): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.callers })
  const latencies: number[] = []
  const sockets = new Set<Socket>()
  let failures = 0
  const [cpuBefore, writtenBefore] = [cpuSeconds(pid), writtenBytes(pid)]
  const ownCpuBefore = process.cpuUsage()
  const began = performance.now()
  const end = began + options.ms
  const caller = async (): Promise<void> => {
    while (performance.now() < end) {
      const sent = performance.now()
      const status = await post(url, agent, { tool: options.tool, sockets })
      latencies.push(performance.now() - sent)
      if (status !== 200) failures++
    }
  }
  await Promise.all(Array.from({ length: options.callers }, caller))
  const seconds = (performance.now() - began) / 1_000
  const ownCpu = process.cpuUsage(ownCpuBefore)
  const received = [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  agent.destroy()
  latencies.sort((a, b) => a - b)
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN
  return {
    perSecond: latencies.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    cpuMs: ((cpuSeconds(pid) - cpuBefore) * 1_000) / latencies.length,
    callerCpuMs: (ownCpu.user + ownCpu.system) / 1_000 / latencies.length,
    writtenBytes: (writtenBytes(pid) - writtenBefore - received) / latencies.length,
    failures,
  }
}

let nextId = 1

function post(
  url: string,
  agent: Agent,
  { tool, sockets }: { readonly tool: string; readonly sockets: Set<Socket> },
): Promise<number> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: nextId++,
    method: 'tools/call',
    params: {
      name: tool,
      arguments: {},
      _meta: { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientCapabilities': {} },
    },
  })
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}/mcp`,
      {
        method: 'POST',
        agent,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': MODERN,
          'mcp-method': 'tools/call',
          'mcp-name': tool,
        },
      },
      (response) => {
        sockets.add(response.socket)
        response.resume()
        response.once('end', () => resolve(response.statusCode ?? 0))
      },
    )
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

const TICKS_PER_SECOND = 100

/** User and system time of a process (Linux); NaN elsewhere. */
function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  } catch {
    return Number.NaN
  }
}

/**
 * To files and sockets (Linux; NaN elsewhere). Not `write_bytes`: that counts the whole folio, up to 256 KiB, in which a
 * few bytes were changed.
 */
function writtenBytes(pid: number): number {
  try {
    return Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
  } catch {
    return Number.NaN
  }
}

export function rssMegabytes(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
  } catch {
    return Number.NaN
  }
}
