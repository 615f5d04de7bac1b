import { copyFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'

let fixture: LedgerFixture

beforeEach(async () => {
  fixture = await LedgerFixture.open()
})

afterEach(() => fixture.remove())

/** What a power cut leaves: the files as they are at this moment, without asking the process that writes them. */
function cut(name: string): LedgerFixture {
  const directory = join(fixture.directory, name)
  mkdirSync(directory)
  for (const file of ['node.db', 'node.db-wal', 'last-signed', 'last-signed.tmp'])
    if (existsSync(join(fixture.directory, file))) copyFileSync(join(fixture.directory, file), join(directory, file))
  return new LedgerFixture(directory, fixture.signer)
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
      const outcomes = copy.database.sql.prepare('SELECT DISTINCT outcome FROM actions').all()
      expect(outcomes.map((row) => row['outcome'])).not.toContain('running')
      await copy.checkpoint()
      expect((await recovered.verify()).findings).toEqual([])
      copy.database.close()
    }
    expect(crashes.at(-1)?.acknowledged).toBeGreaterThan(0)
  })

  it('of a disk that lost what it had promised, a prefix is left, and it is noticed if more had been signed', async () => {
    for (let size = 40; size <= 400; size += 40) {
      await fixture.fill(size)
      await fixture.checkpoint()
    }
    const walBytes = readFileSync(`${fixture.path}-wal`).length
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.nat(walBytes), async (kept) => {
        const copy = cut(`torn-${run++}`)
        truncateSync(`${copy.path}-wal`, kept)
        await copy.open()
        const { findings } = await copy.ledger.verify()
        const size = copy.ledger.size()
        expect(copy.ledger.state().kind).toBe(size < 400 ? 'refusing' : 'sound')
        expect(findings.filter(({ kind }) => kind !== 'tail-missing')).toEqual([])
        expect(findings.length > 0).toBe(size < 400)
        copy.database.close()
      }),
      { numRuns: 25 },
    )
  })
})
