/**
 * Gateway impostor: a program that can write into a data directory and read no key. It puts an owner's token and a note
 * of its own there and answers as the gateway, also to challenges, as far as one can who knows only that token.
 *
 *   argv: { "data": …, "relayTo": "http://127.0.0.1:7420", "port": 7420, "takesLock": true }  →  its address, on a line
 *   GET /seen  →  [["/api/status", "Bearer …"], …]
 */
import { spawn } from 'node:child_process'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { takeProcessLock } from '../src/core/process-lock-store.ts'

const SELF = fileURLToPath(import.meta.url)
const TOKEN = `hb_${'f'.repeat(43)}`

export interface ImpostorOptions {
  readonly data: string
  /** The real gateway, which is asked to answer the challenges. */
  readonly relayTo?: string
  readonly port?: number
  readonly takesLock?: boolean
}

export interface GatewayImpostor {
  readonly url: string
  /** Path and credential of every request but challenges. */
  readonly seen: () => Promise<readonly (readonly [string, string | null])[]>
  readonly stop: () => Promise<void>
}

export async function startGatewayImpostor(options: ImpostorOptions): Promise<GatewayImpostor> {
  const child = spawn(process.execPath, [SELF, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const [url] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(() => Promise.reject(new Error('the impostor did not start'))),
  ])) as [string]
  return {
    url,
    seen: async () => (await (await fetch(`${url}/seen`)).json()) as [string, string | null][],
    stop: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function hmac(text: string): string {
  return createHmac('sha256', TOKEN).update(text).digest('hex')
}

async function play({ data, relayTo, port = 0, takesLock = false }: ImpostorOptions): Promise<void> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const seen: (readonly [string, string | null])[] = []
  let own = ''

  /** The forms of the proofs, written down a second time. */
  async function prove(headers: IncomingHttpHeaders): Promise<Record<string, string>> {
    const challenge = String(headers['x-hearthbus-challenge'])
    const text = `{"challenge":"${challenge}","url":"${own}"}`
    const signature = sign(null, Buffer.from(`hearthbus gateway signature v1\n${text}`), privateKey).toString('base64')
    const real = relayTo && (await fetch(`${relayTo}/health`, { headers: { 'x-hearthbus-challenge': challenge } }))
    return {
      'x-hearthbus-proof': hmac(`hearthbus gateway proof v1\n${text}`),
      'x-hearthbus-signature': (real && real.headers.get('x-hearthbus-signature')) || signature,
    }
  }

  const server = createServer((request, response) => {
    const { url: path = '', headers } = request
    if (path === '/seen') return void response.end(JSON.stringify(seen))
    if (path !== '/health') seen.push([path, headers.authorization ?? null])
    void (headers['x-hearthbus-challenge'] === undefined ? Promise.resolve({}) : prove(headers)).then((proofs) =>
      response.writeHead(200, { 'content-type': 'application/json', ...proofs }).end('{}'),
    )
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  mkdirSync(join(data, 'keys'), { recursive: true })
  const lock = takesLock ? takeProcessLock(join(data, 'gateway.lock')) : undefined
  if (takesLock && lock === undefined) throw new Error('the lock is held')
  // A lock that nothing refers to is released.
  server.once('close', () => lock?.release())
  for (const name of ['keys/owner.token', 'gateway.json']) rmSync(join(data, name), { force: true })
  writeFileSync(join(data, 'keys/owner.token'), `${TOKEN}\n`, { mode: 0o600 })
  const mac = hmac(`hearthbus gateway note v1\n{"pid":${process.pid},"url":"${own}","version":"0.1.0"}`)
  writeFileSync(join(data, 'gateway.json'), JSON.stringify({ url: own, pid: process.pid, version: '0.1.0', mac }))
  process.stdout.write(`${own}\n`)
}

if (process.argv[1] === SELF) await play(JSON.parse(process.argv[2] ?? '{}') as ImpostorOptions)
