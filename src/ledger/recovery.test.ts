import { createSecretKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { deriveTailMacKey, encodeEntryGroup } from './entry-group.ts'
import { readTailSegments } from './tail-reader-store.ts'

let fixture: LedgerFixture

beforeEach(async () => {
  fixture = await LedgerFixture.open()
})

afterEach(() => fixture.remove())

/** What a power cut leaves: the files as they are at this moment, without asking the process that writes them. */
function cut(name: string): LedgerFixture {
  const directory = mkdtempSync(join(tmpdir(), `ledger-${name}-`))
  // The tables first: a copy takes a while, and the log is never behind them.
  for (const file of ['node.db', 'node.db-wal', 'last-signed', 'ledger'])
    if (existsSync(join(fixture.directory, file)))
      cpSync(join(fixture.directory, file), join(directory, file), { recursive: true })
  return new LedgerFixture(directory, fixture.signer)
}

/** Of a segment, before its first group. */
const HEAD_BYTES = 84

/** Where the next group would be written. */
const groupsEnd = (one: LedgerFixture): number =>
  readTailSegments(dirname(segmentOf(one)), undefined).segments.at(-1)?.whole ?? Number.NaN

function writeAt(path: string, at: number, content: string | Uint8Array): void {
  const bytes = readFileSync(path)
  bytes.set(Buffer.from(content), at)
  writeFileSync(path, bytes)
}

const segmentOf = ({ log }: LedgerFixture): string => {
  const [segment = ''] = readdirSync(join(log, 'tail')).toReversed()
  return join(log, 'tail', segment)
}

describe('recovery after a crash', () => {
  it('keeps every acknowledged entry, ends every open call, and leaves a log that verifies', async () => {
    const { ledger } = fixture
    const acknowledged: number[] = []
    const working = { on: true }
    const worker = async (name: number) => {
      while (working.on) {
        const { seq } = await ledger.append({ kind: 'call.enter', tool: `tool ${name}` }, { name })
        acknowledged.push(seq)
        const exit = await ledger.append({ kind: 'call.exit', call: seq, outcome: 'ok' })
        acknowledged.push(exit.seq)
      }
    }
    const signer = async () => {
      while (working.on) await fixture.checkpoint()
    }
    const running = Promise.all([...Array.from({ length: 8 }, (_, name) => worker(name)), signer()])

    const crashes: { readonly copy: LedgerFixture; readonly acknowledged: number }[] = []
    for (let crash = 0; crash < 12; crash++) {
      await new Promise((resolve) => {
        setTimeout(resolve, 5 + ((crash * 7) % 20))
      })
      const known = Math.max(...acknowledged, -1) + 1
      crashes.push({ copy: cut(`crash-${crash}`), acknowledged: known })
    }
    working.on = false
    await running

    for (const { copy, acknowledged: known } of crashes) {
      const recovered = await copy.open()
      expect(recovered.state()).toEqual({ kind: 'sound' })
      expect(recovered.size()).toBeGreaterThanOrEqual(known)
      await recovered.abortOpenCalls()
      expect(recovered.listed(Infinity, 100_000).filter(({ end }) => end === undefined)).toEqual([])
      await copy.checkpoint()
      expect((await recovered.verify()).findings).toEqual([])
      copy.remove()
    }
    expect(crashes.at(-1)?.acknowledged).toBeGreaterThan(0)
  })

  it('keeps whole groups of a truncated tail and reports it if more had been signed', async () => {
    for (let size = 40; size <= 400; size += 40) {
      await fixture.fill(size)
      if (size <= 320) await fixture.checkpoint()
    }
    const length = groupsEnd(fixture)
    await fc.assert(
      fc.asyncProperty(fc.nat(length), fc.boolean(), async (kept, isZeros) => {
        const copy = cut('torn')
        const size = readFileSync(segmentOf(copy)).length
        truncateSync(segmentOf(copy), kept)
        // The file was extended ahead of its groups: what did not reach the disk is as often zeros as it is missing.
        if (isZeros && kept >= HEAD_BYTES) truncateSync(segmentOf(copy), size)
        await copy.open()
        const { findings } = await copy.ledger.verify()
        const entries = copy.ledger.size()
        // Without the head of its only segment, the tail is gone, and the full bundle is left.
        expect(kept < HEAD_BYTES ? entries : entries % 40).toBe(kept < HEAD_BYTES ? 256 : 0)
        expect(copy.ledger.state().kind).toBe(entries < 320 ? 'refusing' : 'sound')
        expect(findings.length > 0).toBe(entries < 320)
        copy.remove()
      }),
      { numRuns: 25 },
    )
  })

  it('drops a last group with unwritten sectors completely and reports nothing', async () => {
    await fixture.fill(20)
    const start = groupsEnd(fixture)
    await fixture.ledger.append({ kind: 'call.enter', tool: 'a' }, { words: 'of the first page '.repeat(300) })
    const end = groupsEnd(fixture)
    const sectors = Array.from({ length: Math.ceil(end / 512) }, (_, index) => index).filter(
      (index) => index * 512 >= start,
    )
    expect(sectors.length).toBeGreaterThan(8)
    for (const sector of sectors) {
      const copy = cut('sector')
      writeAt(segmentOf(copy), sector * 512, new Uint8Array(512))
      await copy.open()
      expect((await copy.ledger.verify()).findings).toEqual([])
      expect([sector, copy.ledger.size(), copy.ledger.state().kind]).toEqual([sector, 20, 'sound'])
      copy.remove()
    }
  })

  it('does not treat preallocated zeros as torn, and a clean stop removes them', async () => {
    await fixture.fill(20)
    const end = groupsEnd(fixture)
    expect(readFileSync(segmentOf(fixture)).length).toBeGreaterThan(end)
    expect(readTailSegments(dirname(segmentOf(fixture)), undefined)).toMatchObject({ torn: 0, damage: undefined })
    await fixture.reopen(() => expect(readFileSync(segmentOf(fixture)).length).toBe(end))
  })

  it('reports a whole group after a gap of zeros as damage', async () => {
    await fixture.fill(20)
    const copy = cut('gap')
    const bytes = readFileSync(segmentOf(copy))
    const group = bytes.subarray(HEAD_BYTES, groupsEnd(copy))
    writeAt(segmentOf(copy), groupsEnd(copy) + 4_096, group)
    await copy.open()
    expect(copy.ledger.state()).toMatchObject({ kind: 'refusing', fault: { kind: 'damaged' } })
    copy.remove()
  })

  it.each([16_320, 16_332, 8_192, 100])(
    'does not take nodes missing from the tree cache, from byte %i of a tile on, for a fork',
    async (from) => {
      await fixture.fill(600)
      await fixture.checkpoint()
      await fixture.fill(700)
      const copy = cut('nodes')
      const nodes = readFileSync(join(copy.log, 'nodes'))
      // 511 nodes of 32 bytes a tile; a page that was never written reads as zeros.
      for (const tile of [0, 1]) nodes.fill(0, tile * 16_352 + from, tile * 16_352 + from + 20)
      writeFileSync(join(copy.log, 'nodes'), nodes)
      await copy.open()
      expect(copy.ledger.state()).toEqual({ kind: 'sound' })
      await copy.fill(800)
      await copy.checkpoint()
      expect(copy.ledger.inclusion(3)).toMatchObject({ ok: true })
      expect(copy.ledger.consistency(300)).toMatchObject({ ok: true })
      expect((await copy.ledger.verify()).findings).toEqual([])
      copy.remove()
    },
  )

  it('reports the length and content of the unsigned tail at start', async () => {
    await fixture.ledger.append({ kind: 'node.start' })
    await fixture.checkpoint()
    await fixture.ledger.append({ kind: 'call.enter', tool: 'a' })
    await fixture.ledger.append({ kind: 'approval.approved', by: 'owner' })
    await fixture.ledger.append({ kind: 'call.enter', tool: 'b' })
    const copy = cut('tail')
    writeAt(segmentOf(copy), groupsEnd(copy), 'HBG1 and then the power went')
    await copy.open()
    expect(copy.ledger.unsignedTail()).toEqual({
      from: 1,
      entries: 3,
      kinds: { 'call.enter': 2, 'approval.approved': 1 },
      torn: 28,
      uncommitted: 0,
    })
    expect(copy.ledger.state()).toEqual({ kind: 'sound' })
    copy.remove()
  })

  it('drops a group whose database transaction was not committed, and keeps one without database rows', async () => {
    const { database, ledger } = fixture
    await ledger.append({ kind: 'first' })
    const before = cut('before')
    await database.commit((sql) => {
      sql.exec("INSERT INTO domain VALUES ('a')")
      ledger.appendIn({ kind: 'second' })
    })
    await ledger.append({ kind: 'third' })
    const after = cut('after')
    // The tables of before with the log of after.
    for (const name of ['node.db', 'node.db-wal'])
      copyFileSync(join(before.directory, name), join(after.directory, name))
    await after.open()
    expect(after.ledger.state()).toEqual({ kind: 'sound' })
    expect(after.ledger.size()).toBe(1)
    expect(after.ledger.unsignedTail()).toMatchObject({ entries: 1, uncommitted: 2 })
    after.database.close()
    await after.open()
    expect(after.ledger.size()).toBe(1)
    rmSync(before.directory, { recursive: true })
    after.remove()
  })
})

describe('a log altered from outside', () => {
  const forgery = (seq: number): Uint8Array =>
    Buffer.from(`{"at":"2026-01-01T00:00:00.000Z","by":"owner","kind":"approval.approved","seq":${seq},"v":1}`)

  const append = (path: string, first: number, key: KeyObject): void => {
    const bytes = readFileSync(path)
    const { segments } = readTailSegments(dirname(path), undefined)
    const mac = segments.at(-1)?.groups.at(-1)?.mac ?? bytes.subarray(20, 52)
    const content = { first, changedRows: false, entries: [{ bytes: forgery(first) }] }
    appendFileSync(path, encodeEntryGroup(content, key, mac).record)
  }

  it('is refused at start when an entry was appended without the key', async () => {
    await fixture.ledger.append({ kind: 'node.start' })
    await fixture.reopen(() => append(segmentOf(fixture), 1, createSecretKey(new Uint8Array(32))))
    expect(fixture.ledger.state()).toMatchObject({ kind: 'refusing', fault: { kind: 'damaged' } })
    await expect(fixture.ledger.append({ kind: 'test' })).rejects.toThrow('that this node did not write')
  })

  it('accepts no entry after a clean stop, even one appended with the key', async () => {
    await fixture.ledger.append({ kind: 'call.enter', tool: 'a' })
    expect(await fixture.ledger.stop({ kind: 'node.stop' })).toMatchObject({ value: { checkpoint: { size: 3 } } })
    expect(fixture.ledger.entry(1)?.entry).toMatchObject({ kind: 'call.aborted', call: 0 })
    await expect(fixture.ledger.append({ kind: 'late' })).rejects.toThrow('has stopped')
    await fixture.reopen()
    expect(fixture.ledger.state()).toEqual({ kind: 'sound' })
    expect(fixture.ledger.unsignedTail()).toBeUndefined()
    await fixture.reopen(() => append(segmentOf(fixture), 3, deriveTailMacKey(fixture.signer)))
    expect(fixture.ledger.state()).toEqual({
      kind: 'refusing',
      fault: { kind: 'behind-stop', size: 4, signedSize: 3 },
    })
  })

  it('is refused as damaged when a group in the middle of the tail was changed', async () => {
    for (const kind of ['first', 'second', 'third']) await fixture.ledger.append({ kind })
    await fixture.reopen(() => {
      const bytes = readFileSync(segmentOf(fixture))
      bytes.write('xxxx', bytes.indexOf('second'))
      writeFileSync(segmentOf(fixture), bytes)
    })
    expect(fixture.ledger.state()).toMatchObject({ kind: 'refusing', fault: { kind: 'damaged' } })
  })

  it('stops confirming entries within a second after its open segment was removed', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const ledger = await fixture.reopen()
      await ledger.append({ kind: 'kept' })
      rmSync(segmentOf(fixture))
      vi.advanceTimersByTime(1_000)
      await expect(ledger.append({ kind: 'lost' })).rejects.toThrow('was removed while it was open')
    } finally {
      vi.useRealTimers()
    }
  })

  it('is refused when entries between the last signature and the tail are missing', async () => {
    fixture.segmentEntries = 50
    await fixture.reopen()
    await fixture.fill(600)
    await fixture.checkpoint()
    await fixture.fill(1_200)
    await fixture.checkpoint()
    const putBack = await fixture.backup()
    fixture.database.close()
    putBack()
    await fixture.reopen(() => {
      for (const name of readdirSync(join(fixture.log, 'tail'))) rmSync(join(fixture.log, 'tail', name))
    })
    expect(fixture.ledger.state()).toMatchObject({ kind: 'refusing', fault: { kind: 'damaged' } })
  })
})
