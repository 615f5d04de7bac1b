/**
 * What a person at the command line meets when something is not as it should be: a sentence and a documented exit
 * code, never a stack trace; and clients that start their servers all at once.
 */
import { execFile } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listenLocally } from '../local-port.ts'
import { CLI, connectStdio, createHome, runCommand, startGatewayProcess } from '../gateway-process.ts'
import type { Ended, Home } from '../gateway-process.ts'

let home: Home
beforeEach(() => {
  home = createHome()
})
afterEach(() => home.remove())

function hearthbus(...words: readonly string[]): Promise<Ended> {
  return runCommand(home, words)
}

describe('an invalid data directory', () => {
  it('with a damaged database is reported in one sentence by the gateway and by commands', async () => {
    writeFileSync(join(home.data, 'hearthbus.db'), 'this is no database, although it is long enough to be looked at')
    for (const words of [['up'], ['ledger', 'verify'], ['ledger', 'checkpoint']]) {
      const { code, said } = await hearthbus(...words)
      expect([words, code, said]).toEqual([words, 5, expect.stringMatching(/^A database in .* is damaged or is none/)])
    }
    const { code, said } = await hearthbus('doctor')
    expect([code, said]).toEqual([5, expect.stringContaining('is damaged or is none')])
  })

  it('with readable credentials or a damaged lock file is reported in one sentence', async () => {
    const keys = join(home.data, 'keys')
    mkdirSync(keys)
    writeFileSync(join(keys, 'owner.token'), '', { mode: 0o644 })
    expect(await hearthbus('up')).toMatchObject({ code: 5, said: expect.stringMatching(/^.*owner\.token can be read/) })
    rmSync(keys, { recursive: true })
    const lock = join(home.data, 'gateway.lock')
    writeFileSync(lock, 'no lock, although it is long enough to be looked at')
    expect(await hearthbus('up')).toMatchObject({
      code: 5,
      said: expect.stringContaining(`${lock} is damaged. Nothing`),
    })
    rmSync(lock)
    rmSync(keys, { recursive: true })
    writeFileSync(keys, '')
    expect(await hearthbus('up')).toMatchObject({ code: 5, said: expect.stringContaining('a file in its place') })
    const file = ['--data', join(home.data, 'file')]
    writeFileSync(join(home.data, 'file'), '')
    for (const words of [['up'], ['doctor']])
      expect(await hearthbus(...file, ...words)).toMatchObject({
        code: 5,
        said: expect.stringContaining('a file in its place'),
      })
  })
})

describe('settings without effect', () => {
  it('are reported at the start, and by doctor', async () => {
    appendFileSync(home.config, 'homeseer: { user: ada }\nskills: { roots: [/nowhere/at/all] }\n')
    const gateway = await startGatewayProcess(home)
    await gateway.stop()
    expect(gateway.log()).toContain('configuration: homeseer.user does nothing without homeseer.url\n')
    expect(gateway.log()).toContain('configuration: skills.roots: /nowhere/at/all is not a folder')
    const { code, said } = await hearthbus('doctor')
    expect([code, said]).toEqual([0, expect.stringContaining('! configuration: homeseer.user does nothing without')])
  })
})

describe('a listener on all interfaces without a token', () => {
  const NO_TOKEN =
    'listen.host is 0.0.0.0, which others can reach, and there is no token yet. Make one first: hearthbus token create NAME --role agent.'

  it('is refused by the gateway, and predicted by doctor', async () => {
    appendFileSync(home.config, '  host: 0.0.0.0\n')
    const before = await hearthbus('doctor')
    expect([before.code, before.said]).toEqual([5, expect.stringContaining(`✗ gateway: none would start. ${NO_TOKEN}`)])
    expect(await hearthbus('up')).toMatchObject({ code: 2, said: expect.stringContaining(NO_TOKEN) })
    // The refused start made a database; a token is still missing in it.
    expect((await hearthbus('doctor')).said).toContain(NO_TOKEN)
    expect(await hearthbus('token', 'create', 'claude', '--role', 'agent')).toMatchObject({ code: 0 })
    expect((await hearthbus('doctor')).said).toContain('! gateway: none runs.')
    await (await startGatewayProcess(home)).stop()
  })
})

describe('a missing node key', () => {
  it('is not replaced by a new one when checkpoints were signed with it', async () => {
    await (await startGatewayProcess(home)).stop()
    const key = join(home.data, 'keys', 'node.key')
    rmSync(key)
    // Twice: the first refusal must leave nothing behind that the second takes for the key.
    for (const words of [['up'], ['up']])
      expect(await hearthbus(...words)).toMatchObject({ code: 5, said: expect.stringContaining(`${key} is missing`) })
    expect(existsSync(key)).toBe(false)
  })
})

describe('a renamed node', () => {
  it('continues its log under the name that the log has', async () => {
    await (await startGatewayProcess(home)).stop()
    const { said: key } = await hearthbus('ledger', 'key')
    expect(key).toMatch(/^hearthbus\.local\/home\+/)
    appendFileSync(home.config, 'node:\n  name: cottage\n')
    await (await startGatewayProcess(home)).stop()
    expect((await hearthbus('ledger', 'key')).said).toBe(key)
    for (const words of [['checkpoint'], ['verify'], ['adopt']])
      expect(await hearthbus('ledger', ...words)).toMatchObject({ code: 0 })
  })

  it('adopts its log under the log’s name when the signed checkpoint is lost', async () => {
    await (await startGatewayProcess(home)).stop()
    const { said: key } = await hearthbus('ledger', 'key')
    appendFileSync(home.config, 'node:\n  name: cottage\n')
    rmSync(join(home.data, 'checkpoint.signed'))
    expect((await hearthbus('ledger', 'key')).said).toBe(key)
    expect(await hearthbus('ledger', 'verify')).toMatchObject({
      code: 5,
      said: expect.stringMatching(/^\S+checkpoint\.signed is missing, though checkpoints were signed\.\n$/),
    })
    expect(await hearthbus('up')).toMatchObject({ code: 5, said: expect.stringContaining('hearthbus ledger adopt') })
    expect(await hearthbus('ledger', 'adopt')).toMatchObject({ code: 0, said: expect.stringContaining('Adopted') })
    expect(await hearthbus('ledger', 'verify')).toMatchObject({ code: 0 })
    expect((await hearthbus('ledger', 'key')).said).toBe(key)
  })

  it('is told which setting names another log', async () => {
    await (await startGatewayProcess(home)).stop()
    appendFileSync(home.config, 'ledger:\n  origin: example.com/other\n')
    expect(await hearthbus('up')).toMatchObject({ code: 5, said: expect.stringContaining('sets ledger.origin') })
  })
})

describe('a wrong command line', () => {
  it.each([['--any-device'], ['--bounds', '{"value":{"min":18,"max":22}}'], ['--uses', '3'], ['--minutes', '10']])(
    'is refused when only one of the options of a grant is given: %s',
    async (...words) => {
      const { code, said } = await hearthbus('approvals', 'approve', '01M7GRQ0E461MTBTN6ZHDH9F14', ...words)
      expect([code, said]).toEqual([2, 'A grant has both: --uses and --minutes.\n'])
    },
  )

  it('exits with 2 and no stack trace', async () => {
    const wrong = [
      ['witness', '--port', 'abc'],
      ['witness', '--port', '0', '--name', 'the attic'],
      // A witness's key is none of a log.
      ['witness', '--port', '0', '--log', 'w.test/w+081686a7+BNQ/f4VyZq19fCp6x73WFcgoqci8CJFYQgsyow3yKjbx'],
      ['call', 'server_ping', '[1]'],
      ['call', 'server_ping', '{}', '--timeout', 'soon'],
    ]
    const ended = await Promise.all(wrong.map((words) => hearthbus(...words)))
    for (const { code, said } of ended) expect([code, said]).toEqual([2, expect.not.stringContaining('    at ')])
  })

  it.each([
    ['error: missing required argument', 'trace'],
    ["error: unknown command 'shwo': there is list, show, approve, revoke", 'devices', 'shwo'],
    ["error: unknown command 'lst': there is list, cancel.", 'later', 'lst'],
  ])('names the available commands and mentions --help: %s', async (sentence, ...words) => {
    const { code, said } = await hearthbus(...words)
    expect([code, said]).toEqual([2, expect.stringContaining(sentence)])
    expect(said).toMatch(/\nAdd --help to any command to see what it takes\.\n$/)
  })

  it('names a missing file, and the options that are needed together', async () => {
    const nowhere = join(home.data, 'nowhere')
    const [verify, missing] = [['ledger', 'verify'], `${nowhere}: there is no such file.\n`]
    const needs =
      'A proof needs --entry FILE (hearthbus ledger entry) and --vkey KEY (hearthbus ledger key) or --policy'
    for (const [said, ...words] of [
      [missing, 'ebus', 'replay', nowhere],
      [missing, 'ebus', 'grab', nowhere],
      [missing, ...verify, '--proof', nowhere, '--entry', nowhere, '--policy', nowhere],
      [`${needs} FILE.\n`, ...verify, '--proof', nowhere, '--entry', nowhere],
      [
        'An entry is checked against its proof: --proof FILE (hearthbus ledger proof).\n',
        ...verify,
        '--entry',
        nowhere,
      ],
    ])
      expect([words, await hearthbus(...words)]).toMatchObject([words, { code: 2, said }])
  })

  it('names a port that another program uses', async () => {
    const other = createServer()
    const port = await listenLocally(other)
    expect(await hearthbus('witness', '--port', String(port))).toMatchObject({
      code: 2,
      said: `Port ${port} belongs to another program. Take another: --port N.\n`,
    })
    other.close()
  })
})

describe('hearthbus homeseer classify', () => {
  const correct = ['homeseer', 'classify', '101', 'heater'] as const

  it('creates the configuration file if there is none', async () => {
    const env = { ...process.env, HEARTHBUS_CONFIG: undefined, XDG_CONFIG_HOME: join(home.data, 'new') }
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...correct], { env })
    const path = join(home.data, 'new', 'hearthbus', 'hearthbus.yaml')
    expect(stdout).toBe(`101 is heater from the next start on (${path}).\n`)
    expect(readFileSync(path, 'utf8')).toBe('homeseer:\n  classes:\n    "101": heater\n')
  })

  it('leaves an invalid configuration file unchanged, and names the wrong line', async () => {
    writeFileSync(home.config, 'homeseer: 5\n')
    const refused = await hearthbus(...correct)
    expect(refused).toMatchObject({ code: 2, said: expect.stringContaining(`${home.config}:1: homeseer: Invalid`) })
    expect(readFileSync(home.config, 'utf8')).toBe('homeseer: 5\n')
  })

  it('reports in JSON that no HomeSeer is configured', async () => {
    expect(await hearthbus('homeseer', 'classify', '--json')).toMatchObject({
      code: 2,
      said: '{"ok":false,"message":"homeseer.url is not set: there is no HomeSeer to ask."}\n',
    })
  })
})

describe('the gateway file', () => {
  it('of a killed gateway is ignored, even if another program has its process id', async () => {
    await (await startGatewayProcess(home)).kill()
    const path = join(home.data, 'gateway.json')
    const note = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    writeFileSync(path, JSON.stringify({ ...note, pid: process.pid }))
    expect(await hearthbus('status')).toMatchObject({ code: 3, said: expect.stringContaining('No gateway runs') })
    const client = await connectStdio(home, 'modern')
    expect((await client.callTool({ name: 'server_ping' })).isError).not.toBe(true)
    await client.close()
  })

  it('written by another program sends no command of the owner to that program', async () => {
    const gateway = await startGatewayProcess(home)
    let visits = 0
    const trap = createServer((socket) => {
      visits += 1
      socket.destroy()
    })
    const url = `http://127.0.0.1:${await listenLocally(trap)}`
    const path = join(home.data, 'gateway.json')
    const note = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    writeFileSync(path, JSON.stringify({ ...note, url }))
    for (const words of [['approvals'], ['token', 'list'], ['watch']])
      expect(await hearthbus(...words)).toMatchObject({ said: expect.stringContaining('not written by that gateway') })
    expect(visits).toBe(0)
    trap.close()
    await gateway.stop()
  })

  it('that is unreadable is not reported as a gateway that does not run', async () => {
    const gateway = await startGatewayProcess(home)
    writeFileSync(join(home.data, 'gateway.json'), '{"url":')
    expect(await hearthbus('status')).toMatchObject({ code: 3, said: expect.stringContaining('does not say where') })
    await gateway.stop()
  })
})

describe('the file of the sign-in link', () => {
  it('that a folder stands in for keeps the gateway neither from starting nor from an orderly stop', async () => {
    const place = join(home.data, 'keys', 'console.link')
    const gateway = await startGatewayProcess(home)
    rmSync(place)
    mkdirSync(place)
    expect(await gateway.stop()).toBe(0)
    expect(gateway.log()).toBe('')
    const next = await startGatewayProcess(home)
    expect(await hearthbus('console')).toMatchObject({ code: 0, said: expect.stringContaining('/#/sign-in/') })
    expect(await next.stop()).toBe(0)
    expect(next.log()).toBe('')
  })
})

describe('a gateway that does not answer', () => {
  it('is reported as such by every command that needs it', async () => {
    const gateway = await startGatewayProcess(home)
    process.kill(gateway.pid, 'SIGSTOP')
    const words = [['status'], ['call', 'server_ping'], ['stop', 'fire'], ['doctor'], ['watch']]
    const [looked, called, stopped, doctor, watched] = await Promise.all(words.map((each) => hearthbus(...each)))
    for (const ended of [looked, called, stopped, watched])
      expect(ended).toMatchObject({ code: 3, said: expect.stringMatching(/does not answer .* `hearthbus doctor`/) })
    // It was not even asked: nothing showed that it is the gateway.
    expect(stopped?.said).not.toContain('may still happen')
    expect(doctor).toMatchObject({ code: 5, said: expect.stringContaining('✗ gateway: its process runs, but') })
    process.kill(gateway.pid, 'SIGCONT')
    await gateway.stop()
  })
})

describe('clients that start their stdio servers at the same moment', () => {
  it('share a single gateway', async () => {
    const clients = await Promise.all([1, 2, 3].map(() => connectStdio(home, 'legacy')))
    await Promise.all(
      clients.map((client, n) => client.callTool({ name: 'task_create', arguments: { title: `${n}` } })),
    )
    const listed = await Promise.all(clients.map((client) => client.callTool({ name: 'task_list' })))
    for (const { structuredContent } of listed) expect(structuredContent).toMatchObject({ data: { total: 3 } })
    await Promise.all(clients.map((client) => client.close()))
  })
})
