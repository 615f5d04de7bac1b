/**
 * An auditor that knows the documents and nothing of this program: `examples/auditor.py`, in another language and with
 * nothing but that language's standard library, over what a node exports.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkpointText } from '../src/ledger/checkpoint.ts'
import { verifyExport } from '../src/ledger/export-store.ts'
import { formatVerifierKey } from '../src/ledger/note-key.ts'
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
  writeFileSync(kept, checkpointText(signed.value))
  const session = await rig.data('audit_session_start', { intent: 'prüfen, ob es wärmer wird: 室温', task_id: 'T-1' })
  sessionId = String(session['session_id'])
  for (const content of ['look', 'decide — 21.5 °C', 'look back'])
    await rig.through('thought_record', { type: 'analysis', task_id: 'T-1', agent_id: 'claude', content })
  await rig.data('merkle_finalize', { session_id: sessionId })
  await rig.through('task_create', { title: 'Anna Schmidt <anna@example.org>' })
  await rig.ledger.eraseBody(rig.ledger.size() - 1)
  await rig.ledger.exportTo(join(folder, 'export'), { withBodies: true })
  await rig.ledger.exportTo(join(folder, 'bare'))
})
afterAll(() => {
  rig.close()
  rmSync(folder, { recursive: true })
})

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
  const { findings } = await verifyExport(join(folder, 'changed'), rig.ledger.verifierKey)
  return [audit('changed').status, findings.length > 0]
}

describe.skipIf(!hasPython)('examples/auditor.py', () => {
  it('agrees with a sound export, a task chain and a session root', async () => {
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
    const report = await verifyExport(join(folder, 'export'), rig.ledger.verifierKey)
    expect(report).toMatchObject({ findings: [], erased: 1 })
  })

  it('refuses the key of another log', () => {
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
  ])('finds, like the program, that somebody changed %s', async (_, path, text, other) => {
    const outcome = await afterChange(path, (bytes) => {
      const at = bytes.indexOf(text)
      if (text === other) bytes[bytes.length - 10] = bytes[bytes.length - 10] === 65 ? 66 : 65
      else bytes.write(other, at)
    })
    expect(outcome).toEqual([5, true])
  })

  it('finds a tile that somebody changed', async () => {
    expect(await afterChange('tile/0/001', (bytes) => bytes.writeUInt8(bytes.readUInt8(99) ^ 1, 99))).toEqual([5, true])
  })
})
