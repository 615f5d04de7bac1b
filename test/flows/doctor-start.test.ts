/**
 * What doctor says before a start is what the start then does: it ends with the sentence that doctor said, or it runs
 * and doctor says of each service what it said before.
 */
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttpsServer } from 'node:https'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSelfSignedNodeCertificate } from '../../src/mesh/identity/self-signed-certificate.ts'
import { deriveNodeIdentity } from '../../src/mesh/identity/node-key.ts'
import { createHome, runCommand, startGatewayProcess } from '../gateway-process.ts'
import type { Home } from '../gateway-process.ts'
import { listenLocally } from '../local-port.ts'

let home: Home
let others: readonly Server[]
/** Ports that another program has. */
let taken: number
let takenForHook: number
let takenForAdapter: number
beforeAll(async () => {
  home = createHome()
  const [web, hook, adapter] = [createServer(), createServer(), createServer()]
  others = [web, hook, adapter]
  taken = await listenLocally(web)
  takenForHook = await listenLocally(hook)
  takenForAdapter = await listenLocally(adapter)
})
afterAll(() => {
  for (const other of others) other.close()
  home.remove()
})

interface Run {
  readonly data?: string
  readonly through?: readonly string[]
}

/** How it ended and what it said; never a stack. */
async function run(
  words: readonly string[],
  { data = home.data, through }: Run = {},
): Promise<readonly [number | null, string]> {
  const { code, said } = await runCommand({ ...home, data }, words, {}, through)
  expect(said).not.toMatch(/\n\s+at .*\.[jt]s:\d+|because of a bug/)
  return [code, said]
}

/** The lines about services and what they need: not the node's own, which say where it keeps its data. */
function aboutServices(said: string): readonly string[] {
  return said.split('\n').filter((line) => /^. (?:devices|homeseer|ebus|models|notify): /.test(line))
}

describe('a refused start', () => {
  it.each<[about: string, yaml: () => string, sentence: () => string]>([
    [
      'listener',
      () => 'listen: { host: nowhere.invalid, port: 0 }',
      () => 'listen.host is nowhere.invalid, a name that does not resolve. Set an address of this machine.',
    ],
    [
      'listener',
      () => 'listen: { host: 203.0.113.7, port: 0 }',
      () => 'listen.host is 203.0.113.7, which is not an address of this machine.',
    ],
    [
      'listener',
      () => `listen: { host: 127.0.0.1, port: ${taken} }`,
      () => `Port ${taken} belongs to another program. Stop that, or set listen.port.`,
    ],
    [
      'mesh',
      () => 'listen: { port: 0 }\nmesh: { enabled: true, host: 203.0.113.7, port: 0, mdns: false }',
      () => 'mesh.host is 203.0.113.7, which is not an address of this machine.',
    ],
    [
      'access-points',
      () => 'listen: { port: 0 }\naccessPoints: [{ name: hall, url: "wss://${NO_SUCH_VARIABLE}/mcp" }]',
      () => 'accessPoints: hall needs the environment variable NO_SUCH_VARIABLE, which is not set.',
    ],
    [
      'access-points',
      () => 'listen: { port: 0 }\naccessPoints: [{ name: hall, url: "ws://127.0.0.1:1/", profile: nothing }]',
      () => 'accessPoints: hall names the profile nothing, and there is none.',
    ],
    [
      'configuration',
      () => 'listen: { port: 7420 }\nebus: { buses: [{ adapter: "enh:127.0.0.1:1", sharedPort: 7420 }] }',
      () =>
        `${home.config}:2: ebus.buses.0.sharedPort: listen.port is 7420 as well. Each listener needs a port of its own.`,
    ],
  ])('ends with the message that doctor gave about %s', async (about, yaml, sentence) => {
    writeFileSync(home.config, yaml())
    const data = join(home.data, 'new')
    const [code, said] = await run(['doctor'], { data })
    expect([code, said]).toEqual([5, expect.stringContaining(`✗ ${about}: ${sentence()}`)])
    expect(said).toContain(`! gateway: none runs, and none would start, because of: ${about}.`)
    // Looking leaves nothing behind.
    expect(existsSync(data)).toBe(false)
    expect(await run(['up'], { data: join(home.data, 'started') })).toEqual([2, `${sentence()}\n`])
  })

  /** Root may do everything; so that something can be refused, another user asks. */
  const isRoot = process.getuid?.() === 0
  const through = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : []

  it('ends with doctor’s message about files that this user may not use', async () => {
    const data = join(home.data, 'others')
    const tty = join(home.data, 'tty')
    mkdirSync(data, { mode: 0o555 })
    writeFileSync(tty, '', { mode: 0 })
    chmodSync(home.data, 0o755)
    writeFileSync(home.config, `listen: { port: 0 }\nebus: { buses: [{ adapter: "serial:${tty}" }] }`)
    const [, said] = await run(['doctor'], { data, through })
    expect(said).toMatch(new RegExp(`✗ data: ${data} may not be used by this user .* Run this as the user who owns it`))
    expect(said).toContain('✗ ebus: The adapter at serial:')
    expect(said).toContain('This user may not open that device: add the user to the group that owns it')
    const refused = [5, expect.stringContaining(`${data} may not be used by this user`)]
    expect(await run(['up'], { data, through })).toEqual(refused)
    chmodSync(home.config, 0)
    const unread = `${home.config}: may not be read by this user.`
    expect((await run(['doctor'], { data, through }))[1]).toContain(`✗ configuration: ${unread}`)
    expect(await run(['up'], { data, through })).toEqual([2, `${unread}\n`])
    chmodSync(home.config, 0o644)
  })

  it('for an inaccessible data directory is explained by every command that reads it', async () => {
    chmodSync(home.data, 0o755)
    const data = join(home.data, 'closed')
    mkdirSync(data)
    chmodSync(data, isRoot ? 0o700 : 0)
    const closed = expect.stringMatching(
      new RegExp(`^${data} may not be used by this user .*Run this as the user who owns`),
    )
    for (const [code, ...words] of [
      [3, 'status'],
      [3, 'approvals'],
      [5, 'ledger', 'verify'],
      [5, 'ledger', 'rebuild'],
      [5, 'ledger', 'key'],
      [5, 'mesh', 'members'],
      [5, 'mesh', 'init'],
    ] as [number, ...string[]][])
      expect([words, await run(words, { data, through })]).toEqual([words, [code, closed]])
    chmodSync(data, 0o700)
  })

  it('ends with doctor’s message about a port below 1024', async ({ skip }) => {
    const first = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))
    skip(first <= 82, 'every user of this machine may use every port')
    const data = join(home.data, 'own')
    mkdirSync(data)
    chmodSync(home.data, 0o755)
    if (isRoot) chownSync(data, 65_534, 65_534)
    writeFileSync(home.config, 'listen: { port: 81 }\ndevices: { enabled: true, host: 127.0.0.1, port: 82 }')
    const [, said] = await run(['doctor'], { data, through })
    expect(said).toContain('✗ listener: Port 81 may only be used by root. Set listen.port to one above 1023.')
    expect(said).toContain('✗ devices: Port 82 may only be used by root. Set devices.port to one above 1023.')
    writeFileSync(home.config, 'listen: { port: 81 }')
    const sentence = 'Port 81 may only be used by root. Set listen.port to one above 1023.\n'
    expect(await run(['up'], { data, through })).toEqual([2, sentence])
  })

  it('ends with doctor’s message about a full disk', async ({ skip }) => {
    const data = join(home.data, 'small')
    mkdirSync(data)
    writeFileSync(home.config, 'listen: { port: 0 }')
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', data]).status === 0
    skip(!mounted, 'a small file system can only be mounted by root')
    try {
      const full = `The disk that holds ${data} is full. Make room and start again`
      expect(await run(['doctor'], { data })).toEqual([5, expect.stringContaining(`✗ data: ${full}`)])
      expect(await run(['up'], { data })).toEqual([5, expect.stringContaining(full)])
    } finally {
      spawnSync('umount', [data])
    }
  })
})

describe('a start while remote services are unreachable', () => {
  it('is not refused because devices.host is not an address of this machine', async () => {
    writeFileSync(home.config, 'listen: { port: 0 }\ndevices: { enabled: true, host: 203.0.113.7, port: 0 }')
    const [, said] = await run(['doctor'])
    expect(said).toContain('✗ devices: devices.host is 203.0.113.7, which is not an address of this machine.')
    expect(said).toContain('! gateway: none runs. Start one with')
  })

  it('succeeds, and doctor says about each service what it said before', async () => {
    const identity = deriveNodeIdentity(generateKeyPairSync('ed25519').privateKey)
    const key = identity.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const tls = createHttpsServer({ cert: createSelfSignedNodeCertificate(identity), key }, (_, response) =>
      response.end(),
    )
    const tlsPort = await listenLocally(tls)
    writeFileSync(
      home.config,
      // A byte order mark, as some editors write it.
      `\uFEFFlogLevel: warn
listen: { port: 0 }
devices: { enabled: true, host: 127.0.0.1, port: ${taken} }
homeseer:
  url: http://127.0.0.1:${tlsPort}
  push: { asciiPort: 1, webhookKey: ${'k'.repeat(20)}, webhookHost: 127.0.0.1, webhookPort: ${takenForHook}, pollSeconds: 1 }
ebus:
  buses:
    - { id: unplugged, adapter: "serial:/dev/no-such-line" }
    - { id: file, adapter: "ens:${home.config}" }
    - { id: misspelt, adapter: "enh:nowhere.invalid", sharedPort: ${takenForAdapter} }
    - { id: stopped, adapter: "ebusd:127.0.0.1:1" }
models: { endpoints: [{ url: "http://127.0.0.1:1/v1", chat: [any], keyVariable: NO_SUCH_VARIABLE }] }
mesh: { enabled: true, host: 127.0.0.1, port: 0, mdns: false, nats: { servers: ["nats://127.0.0.1:1"] } }
notify: [{ url: "https://ntfy.invalid/topic", format: ntfy, tokenVariable: NO_SUCH_VARIABLE }]
`,
    )
    const data = join(home.data, 'running')
    const [code, said] = await run(['doctor'], { data })
    expect(code).toBe(5)
    expect(said).toContain('! gateway: none runs. Start one with `hearthbus up`.')
    expect(said).toContain('✗ mesh: NATS (nats://127.0.0.1:1) cannot be reached.')
    const before = aboutServices(said)
    for (const sentence of [
      `✗ devices: Port ${taken} belongs to another program. Stop that, or set devices.port.`,
      `✗ homeseer: What answers at http://127.0.0.1:${tlsPort} speaks TLS. Write https:// in homeseer.url.`,
      '! homeseer: HomeSeer’s ASCII port does not answer; everything is polled. Check homeseer.push.asciiPort.',
      `! homeseer: Port ${takenForHook} belongs to another program. Stop that, or set homeseer.push.webhookPort.`,
      '✗ ebus: unplugged: The adapter at serial:/dev/no-such-line is not connected. There is no such device on this machine: is it plugged in, and is the path right? The gateway keeps trying.',
      `✗ ebus: file: The adapter at ens:${home.config} is not connected. That is not a serial device: check the path. The gateway keeps trying.`,
      '✗ ebus: misspelt: The adapter at enh:nowhere.invalid is not connected. Its name is not known in this network: check it, or use its IP address. The gateway keeps trying.',
      '✗ ebus: stopped: The adapter at ebusd:127.0.0.1:1 is not connected. Nothing listens there: is the port right, and is its program running? The gateway keeps trying.',
      `! ebus: The adapter cannot be shared. Port ${takenForAdapter} belongs to another program. Stop that, or set ebus.buses.2.sharedPort.`,
      '! models: models: the environment variable NO_SUCH_VARIABLE, which should hold a key, is not set.',
      '✗ models: The model server at http://127.0.0.1:1/v1 cannot be reached.',
    ])
      expect(before).toContain(sentence)
    expect(before.filter((line) => line.includes(' notify: '))).toEqual([
      expect.stringContaining('! notify: Notices about waiting calls do not reach ntfy.invalid: the environment'),
    ])

    const gateway = await startGatewayProcess({ ...home, data })
    // A running gateway also names the trial by which one finds out that notices arrive again.
    const after = async () =>
      aboutServices((await run(['doctor'], { data }))[1].replace(' Try it with: hearthbus notify.', ''))
    await expect.poll(after).toEqual(before)
    expect((await run(['doctor'], { data }))[1]).toMatch(
      /✗ mesh: NATS \(nats:\/\/127\.0\.0\.1:1\) has been out of reach since 20/,
    )
    await gateway.stop()
    expect(gateway.log()).not.toContain('mistake')
    tls.close()
  })
})
