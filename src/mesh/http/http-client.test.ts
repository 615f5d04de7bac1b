import { createServer } from 'node:https'
import { connect, createServer as createRelay } from 'node:net'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { listenLocally } from '../../../test/local-port.ts'
import { answering, collect, ME, reply, streaming } from '../../../test/bus-village.ts'
import { identityOf } from '../../../test/mesh-keys.ts'
import { httpPair } from '../../../test/mesh-pair.ts'
import type { HttpPairOptions, MeshPair } from '../../../test/mesh-pair.ts'
import type { Outcome } from '../../bus/call.ts'
import { createTlsIdentityFromNodeKey } from '../identity/self-signed-certificate.ts'
import { MeshHttpClient } from './http-client.ts'

const [here, there] = [identityOf(21), identityOf(22)]
const client = new MeshHttpClient({ tls: createTlsIdentityFromNodeKey(here), maxAnswerBytes: 1_024 })
afterEach(() => client.close())

describe('mesh HTTP client', () => {
  it('reports an unknown outcome when the first attempt was sent and the retry could not connect', async () => {
    let received = 0
    const server = createServer(
      {
        cert: createTlsIdentityFromNodeKey(there).certificate,
        key: createTlsIdentityFromNodeKey(there).key,
        requestCert: true,
        rejectUnauthorized: false,
      },
      (request, response) => {
        request.resume()
        if (++received === 1) {
          response.end('{}')
          return
        }
        // It dies with the request in hand: perhaps carried out, never answered for.
        server.close()
        request.socket.destroy()
      },
    )
    const port = await listenLocally(server)
    const to = { nodeId: there.id, endpoint: { transport: 'http' as const, host: '127.0.0.1', port } }
    const message = { fields: {}, proof: '', body: '{}', idempotent: false }
    const signal = new AbortController().signal
    expect(await client.send(to, message, signal)).toMatchObject({ ok: true })
    expect(await client.send(to, message, signal)).toMatchObject({ ok: false, fault: { kind: 'unknown-outcome' } })
    expect(received).toBe(2)
    // Nobody is there any more: now nothing is sent, and that may be tried elsewhere.
    expect(await client.send(to, message, signal)).toMatchObject({ ok: false, fault: { kind: 'offline' } })
  })
})

describe('an invalid HTTP answer', () => {
  it('ends the call with an unknown outcome when the server switches protocols', async () => {
    const server = createServer(
      {
        cert: createTlsIdentityFromNodeKey(there).certificate,
        key: createTlsIdentityFromNodeKey(there).key,
        requestCert: true,
        rejectUnauthorized: false,
      },
      ({ socket }) => socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: x\r\n\r\n'),
    )
    const port = await listenLocally(server)
    const to = { nodeId: there.id, endpoint: { transport: 'http' as const, host: '127.0.0.1', port } }
    const message = { fields: {}, proof: '', body: '{}', idempotent: false }
    const { signal } = new AbortController()
    expect(await client.send(to, message, signal)).toMatchObject({ ok: false, fault: { kind: 'unknown-outcome' } })
    server.close()
  })
})

describe('a change whose keep-alive connection breaks before the answer', () => {
  it('runs once, and its outcome is reported as unknown', async () => {
    expect(await broken({})).toEqual(['ok', 'unknown-outcome', 2])
  })

  it('runs once even if the provider has lost its sessions meanwhile', async () => {
    const meanwhile = (pair: MeshPair): void => pair.forgetSessions()
    expect(await broken({ meanwhile })).toEqual(['ok', 'unknown-outcome', 2])
    expect(await broken({ meanwhile, streams: true })).toEqual(['ok', 'unknown-outcome', 2])
  })

  it('is retried after the provider has lost its sessions if it is idempotent', async () => {
    const meanwhile = (pair: MeshPair): void => pair.forgetSessions()
    expect(await broken({ meanwhile, idempotent: true })).toEqual(['ok', 'ok', 3])
  })

  it('is reported as unknown, not as refused, when the retry exceeds the rate limit', async () => {
    // Two at once, of each kind.
    const rate = { callsPerSecond: 100, callsPerSecondPerCapability: 0.4 }
    expect(await broken({ rate })).toEqual(['ok', 'unknown-outcome', 2])
  })

  /** What became of two calls, of which the second is cut off from its answer, and how often they were carried out. */
  async function broken({
    meanwhile = () => undefined,
    streams = false,
    idempotent = false,
    rate,
  }: {
    meanwhile?: (pair: MeshPair) => void
    streams?: boolean
    idempotent?: boolean
    rate?: HttpPairOptions['rate']
  }): Promise<readonly unknown[]> {
    const facts = { name: 'test.write', effect: 'writes', idempotent } as const
    const relay = breakable()
    const pair = await httpPair({ through: relay.open, ...(rate === undefined ? {} : { rate }) })
    let runs = 0
    const change = async (): Promise<Outcome> => {
      if (++runs === 2) {
        meanwhile(pair)
        relay.break()
      }
      return reply(runs)
    }
    pair.offer(
      streams
        ? // oxlint-disable-next-line require-yield -- a stream may end before its first frame
          streaming(facts, async function* () {
            return change()
          })
        : answering(facts, change),
    )
    const make = async (): Promise<string> => {
      const stream = streams ? pair.caller.stream(facts.name, undefined, {}, ME) : undefined
      if (stream !== undefined) await collect(stream)
      const outcome = await (stream?.outcome ?? pair.caller.call(facts.name, undefined, {}, ME))
      return outcome.ok ? 'ok' : outcome.fault.kind
    }
    const ends = [await make(), await make(), runs]
    relay.close()
    await pair.close()
    return ends
  }
})

function breakable(): { open: (port: number) => Promise<number>; break: () => void; close: () => void } {
  const sockets = new Set<Socket>()
  let target = 0
  const server = createRelay((near) => {
    const far = connect(target, '127.0.0.1')
    sockets.add(near)
    for (const socket of [near, far]) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        near.destroy()
        far.destroy()
      })
    }
    near.pipe(far).pipe(near)
  })
  const breakAll = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
    sockets.clear()
  }
  return {
    open: async (port) => {
      target = port
      return listenLocally(server)
    },
    break: breakAll,
    close: () => {
      server.close()
      breakAll()
    },
  }
}
