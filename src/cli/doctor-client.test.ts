import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import { Database } from '../core/database-store.ts'
import { diagnoseDoctorFacts } from '../web/doctor.ts'
import { gatherDoctorFacts } from './doctor-client.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-doctor-'))
  writeFileSync(join(root, 'hearthbus.yaml'), 'listen:\n  port: 0\n')
  mkdirSync(join(root, 'keys'), { mode: 0o700 })
})
afterEach(() => rmSync(root, { recursive: true }))

async function broken(): Promise<readonly string[]> {
  const findings = diagnoseDoctorFacts(await gatherDoctorFacts({ data: root, config: join(root, 'hearthbus.yaml') }))
  return findings.filter(({ level }) => level === 'fail').map(({ about, sentence }) => `${about}: ${sentence}`)
}

describe('doctor without a running gateway', () => {
  it('finds no problem in a new data directory', async () => {
    expect(await broken()).toEqual([])
  })

  it('reports files that would prevent the next start', async () => {
    const { lock, ownerToken: token, database: path } = buildDataDirectoryPaths(root)
    writeFileSync(lock, 'not what a gateway makes, and long enough to be looked at')
    expect(await broken()).toEqual([
      `start: ${lock} is damaged. Nothing is kept in it: remove it, and the next start makes a new one.`,
    ])
    rmSync(lock)
    writeFileSync(token, '', { mode: 0o600 })
    expect(await broken()).toEqual([`start: ${token} holds no token. Remove the file; the next start makes a new one.`])
    rmSync(token)
    new Database({ path, migrations: [{ module: 'guard', steps: Array.from({ length: 99 }, () => '') }] }).close()
    expect((await broken())[0]).toMatch(/^start: .* was written by a newer Hearthbus \(guard is at step 99;/)
  })

  it('reports that the database of a signed ledger is missing', async () => {
    writeFileSync(join(root, 'checkpoint.signed'), 'hearthbus.local/home\n9\n')
    expect(await broken()).toEqual([expect.stringMatching(/^ledger: .*hearthbus\.db is missing, though this node has/)])
  })
})
