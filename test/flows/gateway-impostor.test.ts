/**
 * A program that can write into the data directory puts a token and a note of its own there. Commands that find a pin
 * send it nothing; without a pin they show it a token, as docs/running.md says.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommand, startGatewayProcess } from '../gateway-process.ts'
import type { Ended, GatewayProcess, Home } from '../gateway-process.ts'
import { startGatewayImpostor } from '../gateway-impostor.ts'
import type { GatewayImpostor, ImpostorOptions } from '../gateway-impostor.ts'

const AGENT = `hb_${'a'.repeat(43)}`
const VOTER = `hb_${'v'.repeat(43)}`
const TOKENS = { HEARTHBUS_TOKEN: AGENT, HEARTHBUS_VOTER_TOKEN: VOTER }
const UNREACHABLE = 3

let root: string
let home: Home
let gateway: GatewayProcess | undefined
let impostor: GatewayImpostor | undefined

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-impostor-'))
  const [data, config] = [join(root, 'data'), join(root, 'hearthbus.yaml')]
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(config, `logLevel: silent\nlisten: { port: 0 }\nledger: { pins: ${join(root, 'pins')} }\n`)
  home = { data, config, remove: () => rmSync(root, { recursive: true, force: true }) }
})

afterEach(async () => {
  await impostor?.stop()
  await gateway?.stop()
  ;[impostor, gateway] = [undefined, undefined]
  home.remove()
})

function hearthbus(...words: readonly string[]): Promise<Ended> {
  return runCommand(home, words, TOKENS)
}

async function impersonate(options: Partial<ImpostorOptions> = {}): Promise<GatewayImpostor> {
  impostor = await startGatewayImpostor({ data: home.data, ...options })
  return impostor
}

describe('a program with a token and a note of its own, beside the gateway', () => {
  const COMMANDS: readonly (readonly string[])[] = [
    ['status'],
    ['call', 'server_health'],
    ['approvals'],
    ['approvals', 'approve', 'appr_1'],
    ['token', 'create', 'claude', '--role', 'agent'],
    ['console'],
    ['connect', 'cursor'],
    ['watch'],
    ['mcp'],
  ]

  it.each(['with a key of its own', 'that has the gateway sign the challenge'])(
    '%s, is sent nothing by any command',
    async (way) => {
      gateway = await startGatewayProcess(home)
      const { seen, url } = await impersonate(way.startsWith('that') ? { relayTo: gateway.url } : {})
      for (const words of COMMANDS) {
        const { code, said } = await hearthbus(...words)
        expect([words, code, said]).toEqual([
          words,
          UNREACHABLE,
          expect.stringContaining(`What answers at ${url} is not the gateway of ${home.data}`),
        ])
      }
      expect((await hearthbus('doctor')).said).toContain(`✗ gateway: What answers at ${url} is not the gateway`)
      expect(await seen()).toEqual([])
    },
  )

  it('is shown tokens where there is no pin', async () => {
    gateway = await startGatewayProcess(home)
    const { seen } = await impersonate()
    rmSync(join(root, 'pins'), { recursive: true })
    await hearthbus('status')
    await hearthbus('approvals', 'approve', 'appr_1')
    expect(await seen()).toEqual([
      ['/api/status', `Bearer ${AGENT}`],
      ['/api/approvals/appr_1/approve', `Bearer ${VOTER}`],
    ])
  })

  it('is sent nothing where what is in the place of the pin holds no key', async () => {
    gateway = await startGatewayProcess(home)
    const { seen } = await impersonate()
    for (const name of readdirSync(join(root, 'pins')))
      if (name.endsWith('.json')) writeFileSync(join(root, 'pins', name), '{}')
    expect(await hearthbus('status')).toMatchObject({
      code: UNREACHABLE,
      said: expect.stringContaining('does not hold a key'),
    })
    expect(await seen()).toEqual([])
  })

  it('is sent nothing from the demo’s directory while the gateway runs without its lock file', async () => {
    gateway = await startGatewayProcess(home)
    renameSync(join(home.data, 'gateway.lock'), join(home.data, 'moved'))
    const { seen } = await impersonate({ data: join(home.data, 'demo'), takesLock: true })
    for (const words of [['status'], ['approvals']])
      expect(await hearthbus(...words)).toMatchObject({
        code: UNREACHABLE,
        said: expect.stringContaining('is no longer the file that it holds'),
      })
    expect(await seen()).toEqual([])
  })
})

describe('a program with a token and a note of its own, in the place of a gateway that was killed', () => {
  it('is sent nothing at the address of the gateway', async () => {
    gateway = await startGatewayProcess(home)
    const port = Number(new URL(gateway.url).port)
    await gateway.kill()
    const { seen, url } = await impersonate({ port, takesLock: true })
    expect(url).toBe(gateway.url)
    expect(await hearthbus('status')).toMatchObject({
      code: UNREACHABLE,
      said: expect.stringContaining(`What answers at ${url} is not the gateway of ${home.data}`),
    })
    expect(await seen()).toEqual([])
  })

  it('is not shown the tokens of the environment in the demo’s directory', async () => {
    gateway = await startGatewayProcess(home)
    await gateway.kill()
    const data = join(home.data, 'demo')
    const { seen } = await impersonate({ data, takesLock: true })
    for (const words of [['status'], ['approvals', 'approve', 'appr_1']])
      expect(await hearthbus(...words)).toMatchObject({
        code: UNREACHABLE,
        said: expect.stringContaining(`To show the token to it: --data ${data}`),
      })
    expect(await seen()).toEqual([])
  })

  it('is sent nothing from a directory to which a link in the place of the data directory leads', async () => {
    const real = home.data
    home = { ...home, data: join(root, 'link') }
    symlinkSync(real, home.data)
    gateway = await startGatewayProcess(home)
    expect(await hearthbus('tools')).toMatchObject({ code: 4, said: expect.stringContaining('token') })
    await gateway.kill()
    const data = join(root, 'theirs')
    rmSync(home.data)
    symlinkSync(data, home.data)
    const { seen, url } = await impersonate({ data, takesLock: true })
    expect(await hearthbus('status')).toMatchObject({
      code: UNREACHABLE,
      said: expect.stringContaining(`What answers at ${url} is not the gateway of ${home.data}`),
    })
    expect(await seen()).toEqual([])
  })
})

describe('the gateway with the pinned key', () => {
  it('is found after its log was continued under another name', async () => {
    await (await startGatewayProcess(home)).stop()
    cpSync(home.data, join(root, 'copy'), { recursive: true })
    await (await startGatewayProcess(home)).stop()
    rmSync(home.data, { recursive: true })
    renameSync(join(root, 'copy'), home.data)
    expect(await hearthbus('ledger', 'adopt', '--new-log')).toMatchObject({ code: 0 })
    for (const each of [1, 2]) {
      gateway = await startGatewayProcess(home)
      expect([each, await hearthbus('approvals')]).toMatchObject([each, { code: 0 }])
      await gateway.stop()
    }
    gateway = undefined
  })

  it('names its address by number where it is configured with a name', async () => {
    writeFileSync(home.config, `logLevel: silent\nlisten: { port: 0, host: localhost }\n`)
    gateway = await startGatewayProcess(home)
    expect(gateway.url).toMatch(/^http:\/\/(?:127\.0\.0\.1|\[::1\]):\d+$/)
    expect(await hearthbus('approvals')).toMatchObject({ code: 0 })
  })
})
