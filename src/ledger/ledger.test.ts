import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture, ORIGIN } from '../../test/ledger-fixture.ts'
import { toHex } from '../core/bytes.ts'
import { decodeEntry } from './entry.ts'
import type { Ledger } from './ledger.ts'
import { createLogOnlyPolicy } from './tlog-policy.ts'
import { verifyTlogProof } from './tlog-proof.ts'
import { EMPTY_TREE_ROOT, computeLeafHash, verifyConsistency, verifyInclusion } from './tree.ts'

let fixture: LedgerFixture
let ledger: Ledger

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  ledger = fixture.ledger
})

afterEach(() => fixture.remove())

describe('appending', () => {
  it('starts with the root of the empty tree', () => {
    expect(ledger.size()).toBe(0)
    expect(ledger.root()).toEqual(EMPTY_TREE_ROOT)
  })

  it('numbers events in the order they were appended', async () => {
    const appended = await Promise.all([1, 2, 3].map((value) => ledger.append({ kind: 'test', value })))
    expect(appended.map(({ seq }) => seq)).toEqual([0, 1, 2])
    expect(appended[0]?.at).toBe('2026-01-01T00:00:00.000Z')
  })

  it('stores exactly the bytes that are hashed as the leaf', async () => {
    const appended = await ledger.append({ kind: 'test.bytes', text: 'é' })
    const stored = ledger.entry(0)
    expect(Buffer.from(stored?.bytes ?? []).toString()).toBe(
      '{"at":"2026-01-01T00:00:00.000Z","kind":"test.bytes","seq":0,"text":"é","v":1}',
    )
    expect(computeLeafHash(stored?.bytes ?? new Uint8Array(0))).toEqual(appended.leafHash)
  })

  it('discards the events of a rolled-back transaction and keeps the others of its group', async () => {
    const write = (name: string) =>
      fixture.database.commit((sql) => {
        const appended = ledger.appendIn({ kind: 'named', name })
        sql.prepare('INSERT INTO domain VALUES (?)').run(name)
        return appended.seq
      })
    const results = await Promise.allSettled([write('a'), write('a'), write('b')])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(results[2]).toMatchObject({ value: 1 })
    const root = ledger.root()
    ledger = await fixture.reopen()
    expect([ledger.size(), toHex(ledger.root())]).toEqual([2, toHex(root)])
  })

  it('discards the tiles of a rolled-back transaction', async () => {
    await fixture.fill(200)
    const root = ledger.root()
    const undone = fixture.database.commit(() => {
      for (let index = 0; index < 400; index++) ledger.appendIn({ kind: 'undone', index })
      throw new Error('no')
    })
    await expect(undone).rejects.toThrow('no')
    expect(ledger.root()).toEqual(root)
    await fixture.fill(700)
    expect((await ledger.verify()).findings).toEqual([])
  })

  it('discards a whole group that could not be written to disk', async () => {
    await fixture.fill(3)
    const root = ledger.root()
    const first = ledger.append({ kind: 'lost' })
    const second = fixture.database.commit((sql) => {
      ledger.appendIn({ kind: 'lost' })
      sql.exec('ROLLBACK')
      throw new Error('disk I/O error')
    })
    expect((await Promise.allSettled([first, second])).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect([ledger.size(), toHex(ledger.root())]).toEqual([3, toHex(root)])
    expect((await ledger.append({ kind: 'found' })).seq).toBe(3)
    expect((await ledger.verify()).findings).toEqual([])
  })

  it('is refused outside a database transaction', () => {
    expect(() => ledger.appendIn({ kind: 'test' })).toThrow('inside Database.commit')
  })

  it('continues the same tree after a restart, at sizes around a tile boundary', async () => {
    for (const size of [1, 255, 256, 257, 512, 600]) {
      await fixture.fill(size)
      const root = ledger.root()
      ledger = await fixture.reopen()
      expect(ledger.root()).toEqual(root)
    }
    expect((await ledger.verify()).findings).toEqual([])
  })

  it('lists entries in order from any index', async () => {
    await fixture.fill(10)
    expect(ledger.entries(7, 5).map(({ entry }) => entry.seq)).toEqual([7, 8, 9])
    expect(ledger.entry(10)).toBeUndefined()
  })
})

describe('calls', () => {
  const listed = () => ledger.listed(Number.MAX_SAFE_INTEGER, 100).toReversed()

  it('are listed with their enter and exit entries', async () => {
    const enter = { kind: 'call.enter', tool: 'task_list', principal: 'agent-7', trace_id: 't1', args_hash: 'a' }
    const { seq } = await ledger.append(enter)
    expect(listed()).toMatchObject([{ seq: 0, entry: enter }])
    expect(listed()[0]).not.toHaveProperty('end')
    fixture.clock.advance(1_500)
    const exit = { kind: 'call.exit', call: seq, outcome: 'error', result_hash: 'b', error_code: 'E_NO' }
    await ledger.append(exit)
    expect(listed()).toMatchObject([
      { seq: 0, entry: { at: '2026-01-01T00:00:00.000Z' }, end: { ...exit, at: '2026-01-01T00:00:01.500Z' } },
    ])
  })

  it('left open by a crash are aborted once at the next start', async () => {
    await ledger.append({ kind: 'call.enter', tool: 'a' })
    await ledger.append({ kind: 'call.enter', tool: 'b' })
    await ledger.append({ kind: 'call.exit', call: 0, outcome: 'ok' })
    ledger = await fixture.reopen()
    expect(await ledger.abortOpenCalls()).toEqual([1])
    expect(await ledger.abortOpenCalls()).toEqual([])
    expect(listed().map(({ end }) => end?.kind)).toEqual(['call.exit', 'call.aborted'])
    expect(ledger.entry(3)?.entry).toMatchObject({ kind: 'call.aborted', call: 1 })
  })

  it('can end only once, and only after they began', async () => {
    await ledger.append({ kind: 'call.enter', tool: 'a' })
    await ledger.append({ kind: 'call.exit', call: 0, outcome: 'ok' })
    await expect(ledger.append({ kind: 'call.exit', call: 0, outcome: 'ok' })).rejects.toThrow('call 0 is not open')
    await expect(ledger.append({ kind: 'call.exit', call: 1, outcome: 'ok' })).rejects.toThrow('call 1 is not open')
    await expect(ledger.append({ kind: 'call.exit', outcome: 'ok' })).rejects.toThrow('names no call')
    expect(ledger.size()).toBe(2)
  })
})

describe('bodies', () => {
  it('are stored beside the entry, which commits to them by hash', async () => {
    await ledger.append({ kind: 'thought' }, { text: 'a secret' })
    expect(ledger.body(0)).toEqual({ kind: 'kept', body: { text: 'a secret' } })
    expect(ledger.entry(0)?.entry['body_hash']).toMatch(/^[0-9a-f]{64}$/)
    expect(Buffer.from(ledger.entry(0)?.bytes ?? []).toString()).not.toContain('secret')
  })

  it('of equal content have different commitments', async () => {
    await ledger.append({ kind: 'thought' }, 'same')
    await ledger.append({ kind: 'thought' }, 'same')
    expect(ledger.entry(0)?.entry['body_hash']).not.toBe(ledger.entry(1)?.entry['body_hash'])
  })

  it('can be erased with an erasure entry, and all proofs stay valid', async () => {
    await ledger.append({ kind: 'thought' }, { text: 'a secret that was told' })
    const before = await ledger.proofText(0)
    expect(await ledger.eraseBody(0)).toMatchObject({ ok: true, value: { seq: 1, blanked: [], also: [] } })
    expect(ledger.body(0)).toEqual({ kind: 'erased' })
    expect(ledger.entry(1)?.entry).toMatchObject({ kind: 'body.erased', entry: 0 })
    expect(await ledger.eraseBody(0)).toEqual({ ok: false, fault: { kind: 'nothing-to-erase', seq: 0, erased: true } })
    expect(ledger.body(1)).toEqual({ kind: 'none' })
    const bytes = ledger.entry(0)?.bytes ?? new Uint8Array(0)
    expect(before.ok && verifyTlogProof(before.value, bytes, createLogOnlyPolicy(ledger.verifierKey)).ok).toBe(true)
    expect((await ledger.verify()).findings).toEqual([])
  })

  it('leave no trace in the files after they were erased', async () => {
    await ledger.append({ kind: 'thought' }, { text: 'FIND-ME-'.repeat(2_000) })
    await ledger.eraseBody(0)
    expect(fixture.bytesOnDisk().includes('FIND-ME-')).toBe(false)
  })

  it('may be any JSON value up to a size limit', async () => {
    for (const body of [null, false, 0, '', [], {}]) await ledger.append({ kind: 'thought' }, body)
    expect(ledger.body(0)).toEqual({ kind: 'kept', body: null })
    await expect(ledger.append({ kind: 'thought' }, 'x'.repeat(8_388_608))).rejects.toThrow('8388608 allowed')
    expect((await ledger.verify()).findings).toEqual([])
  })
})

describe('checkpoints and proofs', () => {
  it('are signed notes of origin, size and root', async () => {
    await fixture.fill(3)
    const { checkpoint, note } = await fixture.checkpoint()
    expect(checkpoint).toEqual({ origin: ORIGIN, size: 3, root: ledger.root(), extensions: [] })
    expect(note.text.split('\n').slice(0, 2)).toEqual([ORIGIN, '3'])
  })

  it('are reused until a new entry is appended', async () => {
    await fixture.fill(3)
    const first = await fixture.checkpoint()
    expect(await fixture.checkpoint()).toBe(first)
    await fixture.fill(4)
    expect((await fixture.checkpoint()).checkpoint.size).toBe(4)
    expect(ledger.latestCheckpoint()?.checkpoint.size).toBe(4)
  })

  it('cover every entry appended before the checkpoint was requested, with many requests at once', async () => {
    const sizes = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { seq } = await ledger.append({ kind: 'test' })
        return (await fixture.checkpoint()).checkpoint.size > seq
      }),
    )
    expect(sizes).not.toContain(false)
  })

  it('verify for every entry at every size', async () => {
    await fixture.fill(600)
    for (const size of [1, 2, 255, 256, 257, 512, 513, 600])
      for (let seq = 0; seq < size; seq += 37) {
        const proof = ledger.inclusion(seq, size)
        expect(proof.ok && verifyInclusion(proof.value)).toBe(true)
        expect(proof.ok && proof.value.leaf).toEqual(computeLeafHash(ledger.entry(seq)?.bytes ?? new Uint8Array(0)))
      }
    for (const [from, to] of [
      [0, 600],
      [1, 600],
      [256, 512],
      [255, 600],
      [600, 600],
    ] as const) {
      const proof = ledger.consistency(from, to)
      expect(proof.ok && verifyConsistency(proof.value)).toBe(true)
    }
  })

  it('are refused for entries and sizes beyond the ledger', async () => {
    await fixture.fill(3)
    expect(ledger.inclusion(3)).toEqual({ ok: false, fault: { kind: 'no-such-entry', seq: 3, size: 3 } })
    expect(ledger.inclusion(-1)).toMatchObject({ fault: { kind: 'no-such-entry' } })
    expect(ledger.inclusion(0.5)).toMatchObject({ fault: { kind: 'no-such-entry' } })
    expect(ledger.inclusion(0, 4)).toEqual({ ok: false, fault: { kind: 'no-such-size', asked: 4, size: 3 } })
    expect(ledger.consistency(4)).toMatchObject({ fault: { kind: 'no-such-size' } })
    expect(ledger.consistency(2, 1)).toMatchObject({ fault: { kind: 'no-such-size', asked: 2, size: 1 } })
    expect(await ledger.proofText(3)).toMatchObject({ fault: { kind: 'no-such-entry' } })
  })

  it('are one text that can be verified without the ledger', async () => {
    await fixture.fill(300)
    const text = await ledger.proofText(123)
    const bytes = ledger.entry(123)?.bytes ?? new Uint8Array(0)
    expect(decodeEntry(bytes)).toMatchObject({ ok: true, value: { seq: 123 } })
    expect(text.ok && verifyTlogProof(text.value, bytes, createLogOnlyPolicy(ledger.verifierKey))).toMatchObject({
      ok: true,
    })
    expect(text.ok && verifyTlogProof(text.value, bytes.slice(1), createLogOnlyPolicy(ledger.verifierKey)).ok).toBe(
      false,
    )
  })

  it('are thinned out in the database to the newest of each 256 entries', async () => {
    for (let size = 1; size <= 520; size += 3) {
      await fixture.fill(size)
      await fixture.checkpoint()
    }
    const sizes = fixture.database.sql.prepare('SELECT size FROM ledger_checkpoint ORDER BY size').all()
    expect(sizes.map((row) => row['size'])).toEqual([256, 511, 520])
  })
})
