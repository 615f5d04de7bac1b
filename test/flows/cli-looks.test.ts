/**
 * What a person sees who looks at a running node from the command line: sentences and tables, also where the node asks
 * everybody for a token.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHome, runCommand, startGatewayProcess } from '../gateway-process.ts'
import type { Ended, GatewayProcess, Home } from '../gateway-process.ts'

interface Desktop {
  readonly mcpServers: { readonly hearthbus: { readonly command: string; readonly args: readonly string[] } }
}

/** Somebody's who has never seen this log. */
const WITNESS = 'witness.example+374a6a45+BFDaGqp96CTczFhw3WETcu3u/zNhniNrZ6bvKON4xgm0'

let home: Home
let gateway: GatewayProcess
let token: string
beforeAll(async () => {
  // Nothing is signed by itself while these tests look, however long they take.
  const seldom = 'ledger:\n  checkpointSeconds: 86400\n'
  home = createHome(`  anonymous: off\nguard:\n  rules: [{ tool: task_creat, says: forbid }]\n${seldom}`)
  gateway = await startGatewayProcess(home)
  token = (await hearthbus(['token', 'create', 'claude', '--role', 'agent'])).said.split('\n')[0] ?? ''
})
afterAll(async () => {
  await gateway.stop()
  home.remove()
})

function hearthbus(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return runCommand(home, words, environment)
}

describe('a node without anonymous access', () => {
  it('shows its status to the owner without a token, and lets only a caller with a token act', async () => {
    expect(await hearthbus(['status'])).toMatchObject({
      code: 0,
      said: expect.stringMatching(/not signed yet|last signed at \d+/),
    })
    const doctor = await hearthbus(['doctor'])
    expect([doctor.code, doctor.said]).toEqual([0, expect.stringContaining(`answers at ${gateway.url}`)])
    expect(doctor.said).toContain('! rules and profiles: the rule that says forbid names task_creat, but nothing here')
    expect(doctor.said).toContain('Did you mean task_create?')
    const nameless = await hearthbus(['call', 'server_ping'])
    expect([nameless.code, nameless.said]).toEqual([4, expect.stringContaining('Set HEARTHBUS_TOKEN')])
    const named = await hearthbus(['call', 'server_ping'], { HEARTHBUS_TOKEN: token })
    expect([named.code, named.said]).toEqual([0, expect.stringContaining('"pong": true')])
    const wrong = await hearthbus(['status'], { HEARTHBUS_TOKEN: `hb_${'A'.repeat(43)}` })
    expect([wrong.code, wrong.said]).toEqual([4, 'This token is not valid here, or no longer.\n'])
  })

  it('prints where the token goes in the configuration of a client', async () => {
    const { said } = await hearthbus(['connect', 'claude-code'])
    expect(said).toContain('--header "Authorization: Bearer hb_…"')
    expect(said).toContain('hearthbus token create')
    const { said: started } = await hearthbus(['connect', 'claude-desktop'])
    const { command, args } = (JSON.parse(started.slice(started.indexOf('{'), started.lastIndexOf('}') + 1)) as Desktop)
      .mcpServers.hearthbus
    expect(command).toMatch(/bin\/hearthbus$/)
    expect(args).toEqual(['--data', home.data, '--config', home.config, 'mcp', '--profile', 'home'])
    const unknown = await hearthbus(['connect', 'cursor', '--profile', 'nonsense'])
    expect([unknown.code, unknown.said]).toEqual([1, 'There is no profile nonsense. hearthbus profiles lists them.\n'])
  })
})

describe('a read command of the CLI', () => {
  it('prints a table for a person, and everything as JSON', async () => {
    const { said } = await hearthbus(['topology'])
    expect(said).toMatch(/^This node is ed25519:.* and knows no others\.\n\nnode +service +offers/)
    expect(said).toMatch(/\nhere +runtime +\d+ +0 /)
    const whole = JSON.parse((await hearthbus(['topology', '--json'])).said) as { capabilitiesLocal: unknown[] }
    expect(whole.capabilitiesLocal.length).toBeGreaterThan(20)
    expect((await hearthbus(['history'])).said).toContain('Nothing was measured yet')
  })

  it('changes: lists what was changed and by whom, since a given time', async () => {
    const { code, said } = await hearthbus(['changes', '--since', '12h'])
    expect([code, said]).toEqual([
      0,
      expect.stringMatching(/^entry +when +who .*\n\d+ +\S+Z +owner +A token was made +claude +done +–\n$/),
    ])
    expect(await hearthbus(['changes', '--json', '--limit', '1'])).toMatchObject({
      said: expect.stringContaining('"capability":"token.created"'),
    })
    expect(await hearthbus(['changes', '--since', 'yesterday'])).toMatchObject({ code: 2 })
  })

  it('tools: describes one tool with its arguments, or suggests a similar name', async () => {
    const { said } = await hearthbus(['tools', 'task_create'])
    expect(said).toContain('Puts a new task on record')
    expect(said).toMatch(/\ntitle +required +string/)
    const unknown = await hearthbus(['tools', 'task_creat'])
    expect([unknown.code, unknown.said]).toEqual([1, expect.stringContaining('There is no tool task_creat here')])
    expect(unknown.said).toContain('Did you mean task_create?')
    const called = await hearthbus(['call', 'task_creat'], { HEARTHBUS_TOKEN: token })
    expect([called.code, called.said]).toEqual([1, expect.stringMatching(/ Did you mean task_create\?\n$/)])
  })

  it('ledger key: prints the key with which checkpoints are signed', async () => {
    const { said } = await hearthbus(['ledger', 'key'])
    expect(said).toMatch(/^hearthbus\.local\/home\+[0-9a-f]{8}\+[A-Za-z0-9+/]{43,44}=*\n$/)
    const exported = join(home.data, 'copy')
    expect((await hearthbus(['ledger', 'export', exported])).said).toContain(said.trim())
    expect(readFileSync(join(exported, 'checkpoint'), 'utf8')).toContain('hearthbus.local/home')
    const elsewhere = await hearthbus(['ledger', 'export', join(home.config, 'folder')])
    expect([elsewhere.code, elsewhere.said]).toEqual([1, expect.stringContaining('cannot be written')])
  })

  it('ledger entry and proof: verify together, and with no other entry, without a gateway', async () => {
    const kept = async (name: string, words: readonly string[]): Promise<string> => {
      const path = join(home.data, name)
      writeFileSync(path, (await hearthbus(words)).said)
      return path
    }
    const vkey = (await hearthbus(['ledger', 'key'])).said.trim()
    const [proof, entry, other] = await Promise.all([
      kept('1.tlog-proof', ['ledger', 'proof', '1']),
      kept('1.json', ['ledger', 'entry', '1']),
      kept('0.json', ['ledger', 'entry', '0']),
    ])
    const check = (about: string): ReturnType<typeof hearthbus> =>
      hearthbus(['--data', '/nonexistent', 'ledger', 'verify', '--proof', proof, '--entry', about, '--vkey', vkey])
    expect(await check(entry)).toMatchObject({ code: 0, said: expect.stringContaining('is in hearthbus.local/home') })
    expect(await check(other)).toMatchObject({ code: 5, said: expect.stringContaining('about another entry') })

    const checkUnder = (policy: string): ReturnType<typeof hearthbus> => {
      const path = join(home.data, 'policy')
      writeFileSync(path, policy)
      return hearthbus(['ledger', 'verify', '--proof', proof, '--entry', entry, '--policy', path])
    }
    expect(await checkUnder(`log ${vkey}\nquorum none\n`)).toMatchObject({ code: 0 })
    expect(await checkUnder(`log ${vkey}\nwitness W ${WITNESS}\nquorum W\n`)).toMatchObject({
      code: 5,
      said: 'This does not prove it: too few witnesses have cosigned it.\n',
    })
    expect(await checkUnder(`log ${vkey}\nquorum W\n`)).toMatchObject({
      code: 2,
      said: expect.stringContaining('policy, line 2: W is not defined before this line.'),
    })
  })

  it('ledger proof --with-body: proves the body of an entry, too', async () => {
    await hearthbus(['call', 'task_create', '{"title":"buy salt"}'], { HEARTHBUS_TOKEN: token })
    const { said } = await hearthbus(['ledger', 'entries', '--limit', '20', '--json'])
    const entries = JSON.parse(said) as { seq: number; entry: { kind: string; tool?: string } }[]
    const seq = String(
      entries.find(({ entry: { kind, tool } }) => kind === 'call.enter' && tool === 'task_create')?.seq,
    )
    const [proof, entry] = [join(home.data, 'opened.tlog-proof'), join(home.data, 'opened.json')]
    writeFileSync(proof, (await hearthbus(['ledger', 'proof', seq, '--with-body'])).said)
    writeFileSync(entry, (await hearthbus(['ledger', 'entry', seq])).said)
    const vkey = (await hearthbus(['ledger', 'key'])).said.trim()
    expect(await hearthbus(['ledger', 'verify', '--proof', proof, '--entry', entry, '--vkey', vkey])).toMatchObject({
      code: 0,
      said: expect.stringContaining('"title": "buy salt"'),
    })
  })

  it('ledger proof: refuses an entry that does not exist', async () => {
    const beyond = await hearthbus(['ledger', 'proof', '999999'])
    expect([beyond.code, beyond.said]).toEqual([
      1,
      expect.stringMatching(/^The ledger has \d+ entries, numbered from 0/),
    ])
    expect(await hearthbus(['ledger', 'proof', 'first'])).toMatchObject({
      code: 2,
      said: expect.stringContaining('whole number'),
    })
  })
})
