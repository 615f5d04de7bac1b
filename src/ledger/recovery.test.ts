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
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { encodeGroup, TAIL_KEY_PURPOSE } from './group.ts'
import { readTail } from './tail-store.ts'

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

const segmentOf = ({ log }: LedgerFixture): string => {
  const [segment = ''] = readdirSync(join(log, 'tail')).toReversed()
  return join(log, 'tail', segment)
}

describe('after a crash', () => {
  it('everything that was acknowledged is there, every open call is ended, and all of it verifies', async () => {
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

  it('of a tail that was not written to its end, whole groups are left, and it is noticed if more had been signed', async () => {
    for (let size = 40; size <= 400; size += 40) {
      await fixture.fill(size)
      if (size <= 320) await fixture.checkpoint()
    }
    const length = readFileSync(segmentOf(fixture)).length
    await fc.assert(
      fc.asyncProperty(fc.nat(length), async (kept) => {
        const copy = cut('torn')
        truncateSync(segmentOf(copy), kept)
        await copy.open()
        const { findings } = await copy.ledger.verify()
        const size = copy.ledger.size()
        // Without the head of its only segment, the tail is gone, and the full bundle is left.
        expect(kept < 84 ? size : size % 40).toBe(kept < 84 ? 256 : 0)
        expect(copy.ledger.state().kind).toBe(size < 320 ? 'refusing' : 'sound')
        expect(findings.length > 0).toBe(size < 320)
        copy.remove()
      }),
      { numRuns: 25 },
    )
  })

  it('the start says how long the unsigned tail was, and what was in it', async () => {
    await fixture.ledger.append({ kind: 'node.start' })
    await fixture.checkpoint()
    await fixture.ledger.append({ kind: 'call.enter', tool: 'a' })
    await fixture.ledger.append({ kind: 'approval.approved', by: 'owner' })
    await fixture.ledger.append({ kind: 'call.enter', tool: 'b' })
    const copy = cut('tail')
    appendFileSync(segmentOf(copy), 'HBG1 and then the power went')
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

  it('a group that its tables never committed is cut off, and one without tables is not', async () => {
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

describe('nothing that this node did not write counts', () => {
  const forgery = (seq: number): Uint8Array =>
    Buffer.from(`{"at":"2026-01-01T00:00:00.000Z","by":"owner","kind":"approval.approved","seq":${seq},"v":1}`)

  const append = (path: string, first: number, key: Uint8Array): void => {
    const bytes = readFileSync(path)
    const { segments } = readTail(dirname(path), undefined)
    const mac = segments.at(-1)?.groups.at(-1)?.mac ?? bytes.subarray(20, 52)
    const content = { first, changedRows: false, entries: [{ bytes: forgery(first) }] }
    appendFileSync(path, encodeGroup(content, key, mac).record)
  }

  it('a canonical entry that somebody appended without the key is refused at the start', async () => {
    await fixture.ledger.append({ kind: 'node.start' })
    await fixture.reopen(() => append(segmentOf(fixture), 1, new Uint8Array(32)))
    expect(fixture.ledger.state()).toMatchObject({ kind: 'refusing', fault: { kind: 'damaged' } })
    await expect(fixture.ledger.append({ kind: 'test' })).rejects.toThrow('that this node did not write')
  })

  it('after a stop nothing is accepted, even with the key', async () => {
    await fixture.ledger.append({ kind: 'call.enter', tool: 'a' })
    expect(await fixture.ledger.stop({ kind: 'node.stop' })).toMatchObject({ value: { checkpoint: { size: 3 } } })
    expect(fixture.ledger.entry(1)?.entry).toMatchObject({ kind: 'call.aborted', call: 0 })
    await expect(fixture.ledger.append({ kind: 'late' })).rejects.toThrow('has stopped')
    await fixture.reopen()
    expect(fixture.ledger.state()).toEqual({ kind: 'sound' })
    expect(fixture.ledger.unsignedTail()).toBeUndefined()
    await fixture.reopen(() => append(segmentOf(fixture), 3, fixture.signer.deriveSecret(TAIL_KEY_PURPOSE)))
    expect(fixture.ledger.state()).toEqual({
      kind: 'refusing',
      fault: { kind: 'behind-stop', size: 4, signedSize: 3 },
    })
  })

  it('a group changed in the middle of the tail is damage, not a torn end', async () => {
    for (const kind of ['first', 'second', 'third']) await fixture.ledger.append({ kind })
    await fixture.reopen(() => {
      const bytes = readFileSync(segmentOf(fixture))
      bytes.write('xxxx', bytes.indexOf('second'))
      writeFileSync(segmentOf(fixture), bytes)
    })
    expect(fixture.ledger.state()).toMatchObject({ kind: 'refusing', fault: { kind: 'damaged' } })
  })

  it('entries between the last signature and the tail are refused', async () => {
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
