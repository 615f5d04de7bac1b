/**
 * The worked example of docs/protocols/ledger.md, and what a node that lies could sign in its place. Its hashes and
 * signatures were computed with Python's hashlib and an Ed25519 of its own, not by this program; the keys are those of
 * RFC 8032 § 7.1, tests 1 and 2. Both verifiers, of which one knows only the documents, have to say the same of it.
 */
import { spawnSync } from 'node:child_process'
import { createPrivateKey, hash, sign } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { fromHex, toBase64 } from '../src/core/bytes.ts'
import { canonicalJson } from '../src/core/json.ts'
import type { Json, JsonObject } from '../src/core/json.ts'
import { ok } from '../src/core/result.ts'
import { verifyCommitmentOpening } from '../src/ledger/body-opening.ts'
import { encodeBodyRecords } from '../src/ledger/entry-group.ts'
import { verifyLedgerExport } from '../src/ledger/export-store.ts'
import { formatLedgerFinding } from '../src/ledger/ledger-finding.ts'
import { parseVerifierKey } from '../src/ledger/note-key.ts'
import { encodeEntryBundle } from '../src/ledger/tile.ts'
import { createLogOnlyPolicy } from '../src/ledger/tlog-policy.ts'
import { parseTlogProof, verifyTlogProof } from '../src/ledger/tlog-proof.ts'
import {
  createEmptyFrontier,
  computeFrontierRoot,
  computeLeafHash,
  extendFrontier,
  verifyConsistency,
} from '../src/ledger/tree.ts'
import { ledgerProjections as projections } from '../src/main/ledger-projections.ts'

const SCRIPT = fileURLToPath(new URL('../examples/auditor.py', import.meta.url))
const hasPython = spawnSync('python3', ['--version']).status === 0
const folder = mkdtempSync(join(tmpdir(), 'hearthbus-example-'))
afterAll(() => rmSync(folder, { recursive: true }))

const page = readFileSync(new URL('../docs/protocols/ledger.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/```text\n([\s\S]*?)```\n/g)].map(([, text = '']) => text)
const blockWith = (words: string): string => blocks.find((text) => text.includes(words)) ?? ''

const [NODE_START = '', CALL_ENTER = ''] = blockWith('"kind":"node.start"').split('\n')
const VKEY = /^vkey +(\S+)$/m.exec(blockWith('"kind":"node.start"'))?.[1] ?? ''
const CHECKPOINT = blocks.find((text) => text.startsWith('example.com/attic\n9\n')) ?? ''
const PROOF = blockWith('c2sp.org/tlog-proof@v1\n')

interface ExampleEntry {
  readonly entry: JsonObject
  readonly body?: Json | undefined
  readonly salt: Uint8Array
}

const first: readonly ExampleEntry[] = [
  { entry: JSON.parse(NODE_START) as JsonObject, salt: new Uint8Array(32) },
  {
    entry: JSON.parse(CALL_ENTER) as JsonObject,
    body: { args: { title: 'a' }, salt: '000102030405060708090a0b0c0d0e0f' },
    salt: Uint8Array.from({ length: 32 }, (_, index) => index),
  },
]
const example: readonly ExampleEntry[] = [
  ...first,
  ...[...blockWith('"kind":"session.final"').matchAll(/^(\d) (.*)\n(?: {2}(.*)\n)?/gm)].map(([, seq, entry, body]) => ({
    entry: JSON.parse(entry ?? '') as JsonObject,
    body: body === undefined ? undefined : (JSON.parse(body) as JsonObject),
    salt: new Uint8Array(32).fill(Number(seq)),
  })),
]

const seed = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex')
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const nodeKey = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })

function treeOver(leaves: readonly Uint8Array[]): Uint8Array {
  const frontier = createEmptyFrontier()
  for (const leaf of leaves) extendFrontier(frontier, leaf)
  return computeFrontierRoot(frontier)
}

function committed({ entry, body, salt }: ExampleEntry): JsonObject {
  if (body === undefined) return entry
  return { ...entry, body_hash: hash('sha256', Buffer.concat([salt, Buffer.from(canonicalJson(body))])) }
}

interface WrittenExample {
  readonly directory: string
  readonly root: Uint8Array
  readonly checkpoint: string
}

let count = 0

/** An export of these entries, with every hash and the node's signature. */
function written(entries: readonly ExampleEntry[], extraBodies = Buffer.alloc(0)): WrittenExample {
  const directory = join(folder, `${(count += 1)}`)
  const bytes = entries.map((each) => Buffer.from(canonicalJson(committed(each))))
  const leaves = bytes.map(computeLeafHash)
  const root = treeOver(leaves)
  const text = `example.com/attic\n${bytes.length}\n${toBase64(root)}\n`
  const signature = Buffer.concat([fromHex(VKEY.split('+')[1] ?? ''), sign(null, Buffer.from(text), nodeKey)])
  const checkpoint = `${text}\n— example.com/attic ${signature.toString('base64')}\n`
  const bodies = entries.flatMap(({ body, salt }, index) =>
    body === undefined ? [] : [{ index, salt, body: Buffer.from(canonicalJson(body)) }],
  )
  const files = {
    checkpoint,
    [`tile/entries/000.p/${bytes.length}`]: encodeEntryBundle(bytes),
    [`tile/0/000.p/${bytes.length}`]: Buffer.concat(leaves),
    'bodies/000': Buffer.concat([encodeBodyRecords(bodies), extraBodies]),
  }
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), content)
  }
  return { directory, root, checkpoint }
}

async function findingsIn(directory: string): Promise<readonly string[]> {
  const key = parseVerifierKey(VKEY)
  if (!key.ok) throw new Error('the key of the example cannot be read')
  const { findings } = await verifyLedgerExport(directory, key.value, { projections })
  return findings.map(formatLedgerFinding)
}

function auditorStatus(directory: string): number | null {
  return spawnSync('python3', [SCRIPT, directory, '--vkey', VKEY, '--task', 'T', '--session', 'S']).status
}

describe('the worked example of docs/protocols/ledger.md', () => {
  it('is what the program computes: every hash, chain, seal and signature', async () => {
    const { directory, checkpoint } = written(example)
    expect(example.map((each) => canonicalJson(committed(each)))).toEqual(
      example.map(({ entry }) => canonicalJson(entry)),
    )
    expect(checkpoint).toBe(CHECKPOINT)
    expect(await findingsIn(directory)).toEqual([])
  })

  it.runIf(hasPython)('is what examples/auditor.py computes', () => {
    expect(auditorStatus(written(example).directory)).toBe(0)
  })

  it('has a proof with an opening, and a proof of consistency', () => {
    const key = parseVerifierKey(VKEY)
    const entry = Buffer.from(canonicalJson(example[3]?.entry))
    const text = `${PROOF}\n${CHECKPOINT}`
    expect(key.ok && verifyTlogProof(text, entry, createLogOnlyPolicy(key.value)).ok).toBe(true)
    const proof = parseTlogProof(text)
    expect(proof.ok && verifyCommitmentOpening(proof.value.extra ?? new Uint8Array(0), entry)).toEqual(
      ok({ result: { id: 'T', version: 1 } }),
    )
    const path = [...page.matchAll(/^(?:consistency 2 to 9)? +(\S{43}=)$/gm)].map(([, text64 = '']) =>
      Uint8Array.from(Buffer.from(text64, 'base64')),
    )
    expect(path).toHaveLength(3)
    const leaves = example.map(({ entry: one }) => computeLeafHash(Buffer.from(canonicalJson(one))))
    const [fromRoot, toRoot] = [treeOver(leaves.slice(0, 2)), treeOver(leaves)]
    expect(verifyConsistency({ from: 2, to: 9, fromRoot, toRoot, path })).toBe(true)
  })
})

/** The example with another entry or body at one place. */
function edited(seq: number, change: { readonly entry?: JsonObject; readonly body?: JsonObject }): ExampleEntry[] {
  return example.map((each, at) =>
    at === seq ? { ...each, entry: { ...each.entry, ...change.entry }, body: change.body ?? each.body } : each,
  )
}

const listedBody = (seq: number): ExampleEntry[] =>
  example.map((each, at) => (at === seq ? { ...each, body: [1] } : each))

const other = hash('sha256', 'other')

describe.runIf(hasPython)('signed entries that contradict each other or their bodies', () => {
  it.each<[string, ExampleEntry[], string]>([
    ['other arguments', edited(1, { body: { args: { title: 'z' }, salt: '00'.repeat(16) } }), 'contradicts its body'],
    ['arguments without a salt', edited(1, { body: { args: { title: 'a' } } }), 'no salt'],
    ['a body of a call that is a list', listedBody(1), 'no salt'],
    ['dependencies that are no list', edited(2, { entry: { depends_on: 3 } }), 'is missing or wrong'],
    ['another result', edited(3, { body: { result: { id: 'Z' } } }), 'result_hash is not that of the result'],
    ['other words of a thought', edited(5, { body: { content: 'z' } }), 'hash is not that of its fields'],
    ['another author', edited(7, { entry: { agent_id: 'y' } }), 'signature is not one of these words'],
    ['a thought that continues another', edited(7, { entry: { prev_hash: other } }), 'does not continue the chain'],
    ['another root of a session', edited(8, { entry: { root: other } }), 'have another root'],
    ['another first record', edited(8, { entry: { first_index: 4 } }), 'are the entries 5 to 7'],
    ['another number of records', edited(8, { entry: { record_count: 3 } }), 'another number was sealed'],
    ['a step that is skipped', edited(6, { entry: { to: 'ANALYZE' } }), 'cannot go to ANALYZE'],
    ['a step from another status', edited(6, { entry: { from: 'PLAN' } }), 'task T is INIT'],
    ['a version that is skipped', edited(6, { entry: { version: 3 } }), 'is at version 1'],
    ['a step that names another before', edited(6, { entry: { previous_entry: 4 } }), 'does not name the last change'],
  ])('are found by both verifiers: %s', async (_, entries, sentence) => {
    const { directory } = written(entries)
    expect(await findingsIn(directory)).toContainEqual(expect.stringContaining(sentence))
    expect(auditorStatus(directory)).toBe(5)
  })

  it('are not the abridged result of a call', async () => {
    const { directory } = written(edited(3, { body: { result: { id: 'T', secret: '[redacted]' } } }))
    expect(await findingsIn(directory)).toEqual([])
    expect(auditorStatus(directory)).toBe(0)
  })

  it('are found where an approval is given or used as nobody may', async () => {
    const asked = { approval: 'A', principal: 'claude', tool: 'lock.open', target: null }
    const hashes = { args_hash: other, definition_hash: other, policy_version: '0', promise_hash: other }
    const leaves: Json = { '/value': other }
    const expires_at = '2026-01-01T01:00:00.000Z'
    const approvals: readonly (readonly [kind: string, fields: JsonObject, body?: JsonObject])[] = [
      [
        'approval.requested',
        { ...asked, ...hashes, expires_at, leaves_hash: hash('sha256', canonicalJson(leaves)), preview_hash: null },
        { leaves },
      ],
      ['approval.approved', { ...asked, by: 'owner', expires_at, grant: null }],
      ['approval.used', { ...asked, trace_id: '01L' }],
    ]
    const withApprovals = (change: (at: number, fields: JsonObject) => JsonObject): ExampleEntry[] => [
      ...example,
      ...approvals.map(([kind, fields, body], at) => {
        const head = { at: `2026-01-01T00:00:1${at}.000Z`, kind, seq: 9 + at, v: 1 }
        return { entry: { ...head, ...change(at, fields) }, body, salt: new Uint8Array(32).fill(9) }
      }),
    ]
    const judged = async (change: (at: number, fields: JsonObject) => JsonObject): Promise<unknown> => {
      const { directory } = written(withApprovals(change))
      return [(await findingsIn(directory)).length > 0, auditorStatus(directory)]
    }
    expect(await judged((_, fields) => fields)).toEqual([false, 0])
    const wrong: readonly (readonly [number, JsonObject])[] = [
      [0, { leaves_hash: other }],
      [1, { by: 'claude' }],
      [1, { approval: 'B' }],
      [2, { tool: 'lock.close' }],
      [2, { at: '2026-01-01T02:00:00.000Z' }],
    ]
    for (const [place, field] of wrong)
      expect([place, await judged((at, fields) => (at === place ? { ...fields, ...field } : fields))]).toEqual([
        place,
        [true, 5],
      ])
  })

  it('are found in a body file that has a record of zeros for an entry that commits to nothing', async () => {
    const { directory } = written(example, Buffer.alloc(40))
    expect(await findingsIn(directory)).toEqual(['A body is stored for entry 0, which commits to none.'])
    expect(auditorStatus(directory)).toBe(5)
  })
})
