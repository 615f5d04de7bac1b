/**
 * An auditor that knows the documents and nothing of this program: `examples/auditor.py`, in another language and with
 * nothing but that language's standard library, over what a node exports.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Caller, LateOutcomeRecorder } from '../src/bus/call.ts'
import type { Json, JsonObject } from '../src/core/json.ts'
import { ok } from '../src/core/result.ts'
import { verifyAuditPacket } from '../src/ledger/audit-packet.ts'
import type { EntryToAppend } from '../src/ledger/entry-group.ts'
import { formatSignedCheckpoint, verifyAndParseCheckpoint } from '../src/ledger/checkpoint.ts'
import { verifyLedgerExport } from '../src/ledger/export-store.ts'
import { formatVerifierKey } from '../src/ledger/note-key.ts'
import { ledgerProjections as projections } from '../src/main/ledger-projections.ts'
import { answering } from './bus-village.ts'
import { ADMIN } from './guard-house.ts'
import { edited } from './ledger-attack.ts'
import { LedgerFixture } from './ledger-fixture.ts'
import { plantTasks } from './planted-task.ts'
import { runtimeRig } from './runtime-rig.ts'
import type { Rig } from './runtime-rig.ts'

const SCRIPT = fileURLToPath(new URL('../examples/auditor.py', import.meta.url))
const hasPython = spawnSync('python3', ['--version']).status === 0
if (!hasPython) process.stderr.write('NOT RUN: examples/auditor.py, because there is no python3 on this machine\n')

let rig: Rig
let folder: string
let sessionId: string
let kept: string

beforeAll(async () => {
  rig = await runtimeRig()
  await plantTasks(rig, 'T-1')
  folder = mkdtempSync(join(tmpdir(), 'hearthbus-audit-'))
  kept = join(folder, 'kept')
  for (let count = 0; count < 300; count++) await rig.through('server_ping', {})
  const signed = await rig.ledger.checkpoint()
  if (!signed.ok) throw new Error('not signed')
  writeFileSync(kept, formatSignedCheckpoint(signed.value))
  const session = await rig.data('audit_session_start', { intent: 'prüfen, ob es wärmer wird: 室温', task_id: 'T-1' })
  sessionId = String(session['session_id'])
  for (const content of ['look', 'decide — 21.5 °C', 'look back'])
    await rig.through('thought_record', { type: 'analysis', task_id: 'T-1', agent_id: 'claude', content })
  for (const status of ['GATHER', 'ANALYZE']) await rig.through('task_update', { id: 'T-1', status })
  await rig.data('merkle_finalize', { session_id: sessionId })
  await rig.through('task_create', { title: 'Anna Schmidt <anna@example.org>' })
  await rig.ledger.eraseBody(rig.ledger.size() - 1)
  await changeHeating()
  await rig.ledger.exportTo(join(folder, 'export'), { withBodies: true })
  await rig.ledger.exportTo(join(folder, 'bare'))
})
afterAll(() => {
  rig.close()
  rmSync(folder, { recursive: true })
})

/** A change for a task, which a person approves, and which comes true later. */
async function changeHeating(): Promise<void> {
  let late: LateOutcomeRecorder | undefined
  const target = { target: 'heating:living', label: 'Wohnzimmer', reasons: [] }
  const shown = { name: 'heating.set', title: 'Set a room', effect: 'sensitive' } as const
  rig.bus.registerCapability(
    answering({ ...shown, assess: () => ({ effect: 'sensitive', ...target }) }, async ({ recordLateOutcome }) => {
      late = recordLateOutcome
      return ok({ data: { before: { celsius: 21 }, after: { celsius: 15 } } })
    }),
  )
  const work = { taskId: 'T-1', sessionId }
  const asked = await rig.through('heating.set', { celsius: 15 }, { work })
  const id = asked.ok ? '' : (asked.fault.details?.['approval_id'] as string)
  await rig.guard.approvals.approve(id, ADMIN)
  const done = await rig.through('heating.set', { celsius: 15 }, { work })
  if (!done.ok) throw new Error(done.fault.message)
  await late?.({ outcome: 'reached', source: 'read', observed: { celsius: 15 } })
}

function audit(name: string, ...more: readonly string[]): { readonly status: number | null; readonly text: string } {
  const vkey = formatVerifierKey(rig.ledger.verifierKey)
  const { status, stdout, stderr } = spawnSync('python3', [SCRIPT, join(folder, name), '--vkey', vkey, ...more], {
    encoding: 'utf8',
  })
  return { status, text: stdout + stderr }
}

/** The same copy, changed in one place: what the script says of it, and what the program does. */
async function afterChange(path: string, change: (bytes: Buffer) => void): Promise<readonly [number | null, boolean]> {
  rmSync(join(folder, 'changed'), { recursive: true, force: true })
  cpSync(join(folder, 'export'), join(folder, 'changed'), { recursive: true })
  const file = join(folder, 'changed', path)
  const bytes = readFileSync(file)
  change(bytes)
  writeFileSync(file, bytes)
  const { findings } = await verifyLedgerExport(join(folder, 'changed'), rig.ledger.verifierKey)
  return [audit('changed').status, findings.length > 0]
}

describe.skipIf(!hasPython)('examples/auditor.py', () => {
  it('verifies a sound export, a task’s thought chain and a session root like the program', async () => {
    const said = audit('export', '--checkpoint', kept, '--task', 'T-1', '--session', sessionId)
    const seal = rig.ledger.entries(0, rig.ledger.size()).find(({ entry }) => entry.kind === 'session.final')
    expect(said).toEqual({
      status: 0,
      text: expect.stringMatching(
        new RegExp(
          `root ${Buffer.from(rig.ledger.root()).toString('hex')}; \\d+ bodies; 3 thoughts of task T-1; session root ${JSON.stringify(seal?.entry['root']).slice(1, -1)}\\.`,
        ),
      ),
    })
    expect(audit('bare', '--task', 'T-1')).toMatchObject({ status: 0 })
    const report = await verifyLedgerExport(join(folder, 'export'), rig.ledger.verifierKey)
    expect(report).toMatchObject({ findings: [], erased: 1 })
  })

  it('refuses an export signed by another log’s key', () => {
    const vkey = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
    expect(audit('export', '--vkey', vkey)).toMatchObject({
      status: 5,
      text: expect.stringContaining('has not signed'),
    })
  })

  it.each([
    ['an entry', 'tile/entries/000', 'server_ping', 'server_pong'],
    ['a body', 'bodies/002', 'decide', 'repent'],
    ['the signature', 'checkpoint', '— ', '— '],
  ])('detects, like the program, that %s was changed', async (_, path, text, other) => {
    const outcome = await afterChange(path, (bytes) => {
      const at = bytes.indexOf(text)
      if (text === other) bytes[bytes.length - 10] = bytes[bytes.length - 10] === 65 ? 66 : 65
      else bytes.write(other, at)
    })
    expect(outcome).toEqual([5, true])
  })

  it('verifies audit packets about a task, a session and a time span, from an earlier checkpoint', async () => {
    const opened = verifyAndParseCheckpoint(readFileSync(kept), rig.ledger.verifierKey)
    if (!opened.ok) throw new Error('not kept')
    const from_size = opened.value.checkpoint.size
    for (const scope of [{ task_id: 'T-1' }, { session_id: sessionId }, { since: '2000-01-01T00:00:00Z' }]) {
      const packet = (await rig.data('audit_export', { ...scope, from_size })) as JsonObject
      expect(packet['changes']).toMatchObject([
        { end: { outcome: 'denied', approval: expect.any(String) } },
        {
          tool: 'heating.set',
          before: { celsius: 21 },
          after: { celsius: 15 },
          end: { outcome: 'ok', label: 'Wohnzimmer', approval: expect.any(String) },
          later: { outcome: 'reached', observed: { celsius: 15 } },
        },
      ])
      const [approval] = packet['approvals'] as readonly { readonly steps: readonly JsonObject[] }[]
      expect(approval?.steps.map(({ kind, by }) => [kind, by])).toEqual([
        ['approval.requested', undefined],
        ['approval.approved', ADMIN.id],
        ['approval.used', undefined],
      ])
      expect((packet['thoughts'] as readonly JsonObject[]).map(({ content }) => content)).toEqual([
        'look',
        'decide — 21.5 °C',
        'look back',
      ])
      writeFileSync(join(folder, 'packet'), JSON.stringify({ ok: true, data: packet }))
      expect(audit('packet', '--checkpoint', kept)).toMatchObject({ status: 0 })
      expect(verifyAuditPacket(packet, rig.ledger.verifierKey, { projections, known: opened.value }).findings).toEqual(
        [],
      )
    }
    // Without that proof it holds by itself, and not against what was kept.
    const bare = (await rig.data('audit_export', { task_id: 'T-1' })) as JsonObject
    writeFileSync(join(folder, 'packet'), JSON.stringify(bare))
    expect([audit('packet').status, audit('packet', '--checkpoint', kept).status]).toEqual([0, 5])
    expect(verifyAuditPacket(bare, rig.ledger.verifierKey, { projections, known: opened.value }).findings).toHaveLength(
      1,
    )
  })

  it('detects, like the program, changes to the entries of an audit packet', async () => {
    const packet = JSON.stringify(await rig.data('audit_export', { session_id: sessionId }))
    const without = (place: (entry: JsonObject) => boolean): string => {
      const { entries, ...rest } = JSON.parse(packet) as { readonly entries: readonly JsonObject[] }
      return JSON.stringify({ ...rest, entries: entries.filter((entry) => !place(entry)) })
    }
    const changed = (change: (entry: JsonObject) => object): string => {
      const { entries, ...rest } = JSON.parse(packet) as { readonly entries: readonly JsonObject[] }
      return JSON.stringify({ ...rest, entries: entries.map((entry) => change(entry)) })
    }
    const withParts = (parts: object): string => JSON.stringify({ ...(JSON.parse(packet) as JsonObject), ...parts })
    const leafOf = ({ leaf }: JsonObject): JsonObject => JSON.parse(leaf as string) as JsonObject
    const edits = [
      ...['"celsius":21', 'look back', 'approval.approved', 'heating:living', 'reached'].map((words) =>
        packet.replace(words, words.replace(/.$/, '7')),
      ),
      // In the opening, which is text inside text.
      packet.replace('\\"celsius\\":21', '\\"celsius\\":22'),
      packet.replaceAll(`"by":"${ADMIN.id}"`, '"by":"hans"'),
      without((entry) => leafOf(entry)['kind'] === 'thought' && leafOf(entry)['type'] === 'analysis'),
      without((entry) => leafOf(entry)['kind'] === 'approval.approved'),
      changed((entry) =>
        entry['opening'] === undefined ? entry : { ...entry, opening: undefined, withheld: 'erased' },
      ),
      changed((entry) => (entry['opening'] === undefined ? entry : { ...entry, withheld: 'not-shown' })),
      changed((entry) => ({ ...entry, remark: 'seen by ada' })),
      changed(({ opening, ...entry }) => ({ ...entry, opening: opening && { ...(opening as object), remark: 'x' } })),
      packet.replaceAll(/"salt":"(\w{64})"/g, (_, salt: string) => `"salt":" ${salt}"`),
      without((entry) => leafOf(entry)['kind'] === 'task.created'),
      without((entry) => leafOf(entry)['to'] === 'GATHER'),
      withParts({ verdict: 'nothing was done' }),
      withParts({ verifier_key: 'example.com/other+8b3be0b1+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea' }),
      withParts({ origin: 'example.com/other' }),
      withParts({ scope: { session_id: 'another' } }),
      withParts({ scope: {} }),
      withParts({ left_out: undefined }),
      changed((entry) => ({ ...entry, path: [...(entry['path'] as Json[]), 'A'.repeat(43) + '='] })),
      changed((entry) => ({ ...entry, index: Number(entry['index']) + 1 })),
      packet.replace('/v1"', '/v2"'),
      packet.replace('look back', '\\ud800'),
      '{}',
      '[1]',
    ]
    for (const [number, edit] of edits.entries()) {
      expect([number, edit === packet]).toEqual([number, false])
      writeFileSync(join(folder, 'packet'), edit)
      const { findings } = verifyAuditPacket(JSON.parse(edit) as Json, rig.ledger.verifierKey, { projections })
      expect([number, audit('packet').status, findings.length > 0]).toEqual([number, 5, true])
    }
  })

  it('detects, like the program, a step of a task that is left out of entries and lists', async () => {
    const packet = await rig.data('audit_export', { task_id: 'T-1' })
    const entries = packet['entries'] as readonly JsonObject[]
    const tasks = packet['tasks'] as readonly { readonly steps: readonly JsonObject[] }[]
    const steps = entries.filter(({ leaf }) => /"kind":"task\./.test(leaf as string)).map(({ index }) => index)
    expect(steps).toHaveLength(3)
    const judged = steps.map((step) => {
      const rest = entries.filter(({ index }) => index !== step)
      const lists = tasks.map((task) => ({ ...task, steps: task.steps.filter(({ log_index: at }) => at !== step) }))
      const shortened = JSON.stringify({ ...packet, entries: rest, tasks: lists })
      writeFileSync(join(folder, 'packet'), shortened)
      const { findings } = verifyAuditPacket(JSON.parse(shortened) as Json, rig.ledger.verifierKey, { projections })
      return [audit('packet').status, findings.length > 0]
    })
    // Nothing names the last step.
    expect(judged).toEqual([
      [5, true],
      [5, true],
      [0, false],
    ])
  })

  it('leaves out what the caller may not read from a packet, and counts it', async () => {
    const caller: Caller = { kind: 'principal', id: 'guest', role: 'agent', restrictions: { effects: ['reads'] } }
    const packet = await rig.data('audit_export', { task_id: 'T-1' }, { caller })
    expect(packet).toMatchObject({ entries: [], changes: [], left_out: expect.any(Number) })
    expect(packet['left_out']).toBeGreaterThan(5)
    expect(await rig.answer('audit_export', { task_id: 'nobody' })).toMatchObject({
      isError: true,
      structured: { ok: false, error: { message: expect.stringContaining('Nothing is on record') } },
    })
    expect(await rig.answer('audit_export', {})).toMatchObject({ isError: true })
    expect(await rig.answer('audit_export', { task_id: 'T-1', since: '2026-01-01T00:00:00Z' })).toMatchObject({
      isError: true,
    })
  })

  it('detects a changed tile', async () => {
    expect(await afterChange('tile/0/001', (bytes) => bytes.writeUInt8(bytes.readUInt8(99) ^ 1, 99))).toEqual([5, true])
  })
})

/** What a node that lies could sign: each is no entry, or no body, as docs/protocols/ledger.md says it. */
describe.runIf(hasPython)('signed entries that are malformed', () => {
  const replaced =
    (seq: number, text: string, other: string) =>
    (entries: EntryToAppend[]): EntryToAppend[] =>
      entries.map((entry, at) => (at === seq ? edited(entry, text, other) : entry))
  const withBody =
    (body: string) =>
    ([first, ...rest]: EntryToAppend[]): EntryToAppend[] => {
      const salt = Buffer.alloc(32, 5)
      const committed = createHash('sha256').update(salt).update(body).digest('hex')
      const bytes = Buffer.from(first?.bytes ?? '')
        .toString()
        .replace(/"body_hash":"[^"]*"/, `"body_hash":"${committed}"`)
      return [{ bytes: Buffer.from(bytes), body: { salt, body: Buffer.from(body) } }, ...rest]
    }
  const erasing =
    (entry: number) =>
    (entries: EntryToAppend[]): EntryToAppend[] => [
      ...entries,
      {
        bytes: Buffer.from(`{"at":"${AT}","entry":${entry},"kind":"body.erased","seq":${entries.length},"v":1}`),
      },
    ]

  it.each<[string, (entries: EntryToAppend[]) => EntryToAppend[]]>([
    ['a version that is true', replaced(3, '"v":1', '"v":true')],
    ['a number that is true', replaced(1, '"seq":1', '"seq":true')],
    ['a time without milliseconds', replaced(3, AT, '2026-01-01T00:00:00Z')],
    ['a day that there is not', replaced(3, AT, '2026-02-30T00:00:00.000Z')],
    ['an hour that there is not', replaced(3, AT, '2026-01-01T24:00:00.000Z')],
    ['digits of another script', replaced(3, AT, '٢٠٢٦-01-01T00:00:00.000Z')],
    ['a kind in capitals', replaced(3, '"kind":"note"', '"kind":"Note"')],
    ['a line end in the kind', replaced(3, '"kind":"note"', '"kind":"note\\n"')],
    ['the end of a call that is true', replaced(3, '"kind":"note"', '"call":true,"kind":"call.exit"')],
    ['the end of a call that is a list', replaced(3, '"kind":"note"', '"call":[],"kind":"call.exit"')],
    ['more about no call', replaced(3, '"kind":"note"', '"kind":"call.outcome"')],
    ['a body that is not canonical', withBody('{ "text":"x"}')],
    ['a body that is no JSON', withBody('hello')],
    ['the erasure of a body that there never was', erasing(3)],
  ])('are refused by the auditor and the program: %s', async (_, change) => {
    const fixture = await LedgerFixture.open()
    const out = mkdtempSync(join(tmpdir(), 'hearthbus-signed-'))
    await fixture.ledger.append({ kind: 'note' }, { text: 'x' })
    // More than one group, of which only the last may be torn.
    for (let count = 0; count < 110; count++) await fixture.ledger.append({ kind: 'note' })
    const ledger = await fixture.rewrite((entries) =>
      change(entries.map((entry) => ({ ...entry, bytes: Buffer.from(timed(entry.bytes)) }))),
    )
    expect(await ledger.exportTo(out, { withBodies: true })).toMatchObject({ ok: true })
    const { findings } = await verifyLedgerExport(out, fixture.signer.key)
    const { status } = spawnSync('python3', [SCRIPT, out, '--vkey', formatVerifierKey(fixture.signer.key)])
    expect([findings.length > 0, status]).toEqual([true, 5])
    rmSync(out, { recursive: true })
    fixture.remove()
  })
})

const AT = '2026-01-01T00:00:00.000Z'

function timed(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString()
    .replace(/"at":"[^"]*"/, `"at":"${AT}"`)
}
