import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createNumberedIdentity } from './identity.ts'
import { bootDevice } from './ota-client.ts'
import { FIRMWARE_PROFILES } from './firmware-profile.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await closed(server)
})

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })

/** Answers each request with the next of these, the last one for ever. */
async function backend(answers: readonly [number, object][], port = 0): Promise<number> {
  let count = 0
  const server = createServer((request, response) => {
    request.resume()
    const [status, body] = answers[Math.min(count++, answers.length - 1)] ?? [500, {}]
    response.writeHead(status, { connection: 'close' }).end(JSON.stringify(body))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const ACTIVATION: [number, object] = [200, { activation: { code: '123456', challenge: 'c' } }]
const CONNECT: [number, object] = [200, { websocket: { url: 'ws://here/', token: 't' } }]

function booting(port: number, onCode: (code: string) => void = () => undefined): ReturnType<typeof bootDevice> {
  return bootDevice({
    url: `http://127.0.0.1:${port}/ota/`,
    identity: createNumberedIdentity(1),
    profile: FIRMWARE_PROFILES['fw-2.4'],
    board: 'lamp',
    timing: { activateMs: 5, activateErrorMs: 20 },
    signal: new AbortController().signal,
    onCode,
  })
}

describe('a simulated device that boots', () => {
  it('receives its WebSocket address after it was approved', async () => {
    const port = await backend([ACTIVATION, [202, {}], [200, {}], CONNECT])
    const codes: string[] = []
    expect((await booting(port, (code) => codes.push(code))).websocket).toEqual({ url: 'ws://here/', token: 't' })
    expect(codes).toEqual(['123456'])
  })

  it('keeps waiting when the backend restarts while it shows its code', async () => {
    const port = await backend([ACTIVATION, [202, {}]])
    const shown = Promise.withResolvers<unknown>()
    const booted = booting(port, shown.resolve)
    await shown.promise
    for (const server of servers.splice(0)) await closed(server)
    await backend([[200, {}], CONNECT], port)
    expect((await booted).websocket).toEqual({ url: 'ws://here/', token: 't' })
  })

  it('reports an OTA endpoint that answers 404 or is unreachable', async () => {
    const port = await backend([[404, {}]])
    await expect(booting(port)).rejects.toThrow('the OTA endpoint answered 404')
    for (const server of servers.splice(0)) await closed(server)
    await expect(booting(port)).rejects.toThrow('ECONNREFUSED')
  })
})
