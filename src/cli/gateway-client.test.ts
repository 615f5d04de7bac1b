import { createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import { takeProcessLock } from '../core/process-lock-store.ts'
import type { ProcessLock } from '../core/process-lock-store.ts'
import { encodeRunningGatewayNote } from '../main/running-gateway-note.ts'
import { findRunningGateway, requestGateway } from './gateway-client.ts'

const OWNER = `hb_${'o'.repeat(43)}`
const AGENT = `hb_${'a'.repeat(43)}`

const credentials: (string | undefined)[] = []
/** The token with which the program at the address answers a challenge, and the address that it believes to have. */
let prover: { token: string; url?: string } | undefined
const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json')
  if (request.url !== '/health') credentials.push(request.headers.authorization)
  else if (prover !== undefined) response.setHeader('x-hearthbus-proof', proofOf(request, prover))
  response.end('{}')
})

/** Written down a second time. */
function proofOf({ headers }: IncomingMessage, { token, url: own = url }: NonNullable<typeof prover>): string {
  const text = `{"challenge":"${String(headers['x-hearthbus-challenge'])}","url":"${own}"}`
  return createHmac('sha256', token).update(`hearthbus gateway proof v1\n${text}`).digest('hex')
}

let root: string
let url: string
let lock: ProcessLock | undefined

beforeEach(async () => {
  credentials.length = 0
  prover = { token: OWNER }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  root = mkdtempSync(join(tmpdir(), 'hearthbus-client-'))
  const data = buildDataDirectoryPaths(root)
  mkdirSync(data.keys)
  lock = takeProcessLock(data.lock)
  writeFileSync(data.ownerToken, `${OWNER}\n`, { mode: 0o600 })
  writeFileSync(data.gateway, encodeRunningGatewayNote({ url, pid: process.pid, version: '1' }, OWNER))
  vi.stubEnv('HEARTHBUS_TOKEN', AGENT)
})

afterEach(async () => {
  vi.unstubAllEnvs()
  lock?.release()
  rmSync(root, { recursive: true })
  await new Promise((resolve) => server.close(resolve))
})

/** What the program at the note's address was shown by a command that acts like an agent. */
async function shownBy(): Promise<readonly (string | undefined)[] | string> {
  const gateway = findRunningGateway({ data: root })
  if (!gateway.ok) return gateway.fault.message
  const answer = await requestGateway(gateway.value, { path: '/api/status' })
  return answer.ok ? credentials : answer.fault.message
}

describe('a CLI command with a token', () => {
  it('sends the token to the gateway that wrote the gateway file', async () => {
    expect(await shownBy()).toEqual([`Bearer ${AGENT}`])
  })

  it('withholds the token from the address in a gateway file that another program wrote', async () => {
    writeFileSync(buildDataDirectoryPaths(root).gateway, JSON.stringify({ url, pid: process.pid, version: '1' }))
    expect(await shownBy()).toContain('was not written by that gateway')
    expect(credentials).toEqual([])
  })

  it('withholds the token when the owner’s token, which authenticates the gateway file, is missing', async () => {
    writeFileSync(buildDataDirectoryPaths(root).gateway, JSON.stringify({ url, pid: process.pid, version: '1' }))
    rmSync(buildDataDirectoryPaths(root).ownerToken)
    expect(await shownBy()).toContain(`Nothing proves that ${url} is the gateway`)
    expect(credentials).toEqual([])
  })

  it.each([
    ['that does not answer a challenge', undefined],
    ['that has another token', { token: AGENT }],
    ['that passes the challenge on to the gateway at another address', { token: OWNER, url: 'http://127.0.0.1:9' }],
  ])('withholds the token from a program %s, on the address and process id of a stopped gateway', async (_, other) => {
    prover = other
    expect(await shownBy()).toContain(`What answers at ${url} is not the gateway of ${root}`)
    expect(credentials).toEqual([])
  })

  it('sends the token without the owner’s files if HEARTHBUS_URL names the same address', async () => {
    rmSync(buildDataDirectoryPaths(root).ownerToken)
    vi.stubEnv('HEARTHBUS_URL', url)
    expect(await shownBy()).toEqual([`Bearer ${AGENT}`])
  })
})
