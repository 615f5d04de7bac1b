import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import { generateAccessTokenText } from '../guard/access-token.ts'
import { takeGatewayLock } from './gateway-lock-client.ts'
import { encodeRunningGatewayNote } from './running-gateway-note.ts'

const owner = generateAccessTokenText()
let data: DataDirectory
let server: Server
let url: string
let other: ChildProcess

beforeEach(async () => {
  data = buildDataDirectoryPaths(mkdtempSync(join(tmpdir(), 'hearthbus-lock-')))
  mkdirSync(data.keys, { mode: 0o700 })
  writeFileSync(data.ownerToken, `${owner}\n`, { mode: 0o600 })
  server = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
})
afterEach(async () => {
  other.kill('SIGKILL')
  server.closeAllConnections()
  server.close()
  rmSync(data.root, { recursive: true })
})

function write(note: { readonly url?: string; readonly pid?: number }, token = owner): void {
  const whole = { url, pid: other.pid ?? 0, version: '1', ...note }
  writeFileSync(data.gateway, encodeRunningGatewayNote(whole, token))
}

async function isTaken(): Promise<boolean> {
  const lock = await takeGatewayLock(data)
  if (lock.ok) lock.value.release()
  return lock.ok
}

describe('data directory lock whose file was moved away', () => {
  it('is refused while the gateway in the note answers', async () => {
    write({})
    expect(await takeGatewayLock(data)).toMatchObject({
      ok: false,
      fault: expect.stringContaining(`process ${other.pid}, ${url}`),
    })
    // What was taken to find out is given back.
    rmSync(data.gateway)
    expect(await isTaken()).toBe(true)
  })

  it('is taken when the gateway in the note has ended or the note is not authentic', async () => {
    write({ pid: process.pid })
    expect(await isTaken()).toBe(true)
    write({}, generateAccessTokenText())
    expect(await isTaken()).toBe(true)
    write({ url: 'http://127.0.0.1:1' })
    expect(await isTaken()).toBe(true)
    write({})
    other.kill('SIGKILL')
    await once(other, 'exit')
    expect(await isTaken()).toBe(true)
  })
})
