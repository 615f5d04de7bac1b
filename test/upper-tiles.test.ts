/** A log with full tiles of level 1: what is done to them is found, with the same words in the log and in an export. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { verifyLedgerExport } from '../src/ledger/export-store.ts'
import type { LedgerFinding } from '../src/ledger/ledger-finding.ts'
import { LedgerFixture } from './ledger-fixture.ts'

const SIZE = 256 * 256 + 300
let fixture: LedgerFixture
let exported: string

beforeAll(async () => {
  fixture = await LedgerFixture.open()
  exported = join(fixture.directory, 'export')
  while (fixture.ledger.size() < SIZE)
    await fixture.database.commit(() => {
      for (let left = 4_096; left > 0 && fixture.ledger.size() < SIZE; left--) fixture.ledger.appendIn({ kind: 'note' })
    })
  await fixture.checkpoint()
  await fixture.ledger.exportTo(exported)
})
afterAll(() => fixture.remove())

async function findingsAfter(
  paths: readonly string[],
  change: (path: string) => void,
): Promise<readonly LedgerFinding[]> {
  const reports = []
  for (const [folder, verify] of [
    [fixture.log, () => fixture.ledger.verify()],
    [exported, () => verifyLedgerExport(exported, fixture.signer.key)],
  ] as const) {
    const before = paths.map((path) => readFileSync(join(folder, path)))
    for (const path of paths) change(join(folder, path))
    reports.push((await verify()).findings)
    for (const [at, path] of paths.entries()) writeFileSync(join(folder, path), before[at] ?? '')
  }
  expect(reports[1]).toEqual(reports[0])
  return reports[0] ?? []
}

function flip(path: string): void {
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(10) ^ 1, 10)
  writeFileSync(path, bytes)
}

const UPPER = ['tile/1/000', 'tile/1/001.p/1', 'tile/2/000.p/1']

it('verification finds changed and removed tiles of the upper levels', async () => {
  const inOrder = (findings: readonly LedgerFinding[]): readonly string[] =>
    findings.map((each) => JSON.stringify(each)).toSorted()
  const [changed, removed] = (['tile-differs', 'file-missing'] as const).map((kind) =>
    UPPER.map((path) => ({ kind, path })),
  )
  expect(inOrder(await findingsAfter(UPPER, flip))).toEqual(inOrder(changed ?? []))
  expect(inOrder(await findingsAfter(UPPER, (file) => rmSync(file)))).toEqual(inOrder(removed ?? []))
})

it('verification names missing and changed bundles under sound tiles, and no tile', async () => {
  const paths = ['tile/entries/100', 'tile/entries/200']
  const findings = await findingsAfter(paths, (file) => (file.endsWith('100') ? rmSync(file) : flip(file)))
  expect(findings).toEqual([
    { kind: 'file-missing', path: 'tile/entries/100' },
    { kind: 'bundle-differs', path: 'tile/entries/200', seq: 51_200, count: 1 },
  ])
})

it('verification finds a bundle and a tile above it that were changed together', async () => {
  expect(await findingsAfter(['tile/entries/100', 'tile/1/000'], flip)).toEqual([
    { kind: 'bundle-differs', path: 'tile/entries/100', seq: 25_600, count: 1 },
    { kind: 'tile-differs', path: 'tile/1/000' },
  ])
})
