/** A gateway whose mesh.db somebody without its key writes into: pins stay what the log says, and `verify` names it. */
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { verifyDataDirectoryLedger } from '../src/cli/ledger-verification-store.ts'
import { createOwnCommunity } from '../src/cli/mesh-client.ts'
import type { MeshCommandContext } from '../src/cli/mesh-client.ts'
import { leaveCommunity } from '../src/cli/mesh-leaving-client.ts'
import { configSchema } from '../src/config/schema.ts'
import { silentLogger } from '../src/core/logger.ts'
import { formatLedgerFinding } from '../src/ledger/ledger-finding.ts'
import { startGateway } from '../src/main.ts'
import { createOfferPinLog, offerPinProjection } from '../src/main/offer-pin-log.ts'

const config = configSchema.parse({
  listen: { port: 0 },
  mesh: { enabled: true, host: '127.0.0.1', port: 0, mdns: false },
})
const NODE = `ed25519:${'B'.repeat(43)}`
const PIN = { key: 'attic.fan.set@1.0#default', hash: 'a'.repeat(64) }
const FORGED = `INSERT INTO offer_acceptance VALUES ('forged', '${NODE}', '{"digest":"","offers":[{"key":"${PIN.key}","hash":"${'b'.repeat(64)}"}]}', zeroblob(32))`

let dataRoot: string

beforeEach(() => {
  dataRoot = mkdtempSync(join(tmpdir(), 'hearthbus-mesh-tampering-'))
})
afterEach(() => rmSync(dataRoot, { recursive: true }))

type Gateway = Extract<Awaited<ReturnType<typeof startGateway>>, { ok: true }>['value']

function start(): ReturnType<typeof startGateway> {
  return startGateway({ config, dataRoot, version: '0', logger: silentLogger, listen: false })
}

async function running<Value>(work: (gateway: Gateway) => Promise<Value>): Promise<Value> {
  const started = await start()
  if (!started.ok) throw new Error(started.fault.message)
  try {
    return await work(started.value)
  } finally {
    await started.value.stop()
  }
}

async function verify(): Promise<readonly string[]> {
  const report = await verifyDataDirectoryLedger(dataRoot, config)
  if (!report.ok) throw new Error(report.fault)
  return report.value.findings.map(formatLedgerFinding)
}

function tamper(sql: string): void {
  const file = new DatabaseSync(join(dataRoot, 'mesh.db'))
  file.exec(`PRAGMA busy_timeout = 5000; ${sql}`)
  file.close()
}

const WRITTEN =
  /\(mesh\.written\) cannot follow what was recorded before it: another program wrote to the mesh database/

describe('a mesh database edited by another program', () => {
  it('while the gateway runs: the edit is ignored, recorded, and stays a finding', async () => {
    await running(async ({ ledger }) => {
      const offers = createOfferPinLog(ledger)
      await offers.pin(NODE, [PIN])
      const prefixes = offers.prefixes()
      expect(prefixes.length).toBeGreaterThan(0)
      expect(await verify()).toEqual([])
      tamper(FORGED)
      await expect.poll(async () => verify()).toEqual([expect.stringMatching(WRITTEN)])
      expect(offers.pins(NODE).get(PIN.key)).toBe(PIN.hash)
      expect(offers.prefixes()).toEqual(prefixes)
    })
    expect(await verify()).toEqual([expect.stringMatching(WRITTEN)])
  })

  it('while the gateway is stopped: the edit is a finding, and ignored by the next start', async () => {
    await running(async ({ ledger }) => createOfferPinLog(ledger).pin(NODE, [PIN]))
    tamper(FORGED)
    expect(await verify()).toEqual([
      'The acceptance of offers forged was added or changed; the ledger does not have it.',
    ])
    await running(async ({ ledger }) => {
      expect(createOfferPinLog(ledger).pins(NODE).get(PIN.key)).toBe(PIN.hash)
    })
    expect(await verify()).toEqual([expect.stringMatching(WRITTEN)])
  })

  it('with a planted table: it is a finding, and the gateway does not start', async () => {
    await running(async () => undefined)
    tamper('CREATE TABLE offer_pin (node_id TEXT, capability TEXT, hash TEXT)')
    expect(await verify()).toEqual([expect.stringMatching(/offer_pin in .*mesh\.db is not the one this program made/)])
    expect(await start()).toMatchObject({
      ok: false,
      fault: { message: expect.stringContaining('offer_pin') as string },
    })
  })

  it('by removing the file: pins and family prefixes are still known from the ledger', async () => {
    const before = await running(async ({ ledger }) => {
      await createOfferPinLog(ledger).pin(NODE, [PIN])
      return createOfferPinLog(ledger).prefixes()
    })
    rmSync(join(dataRoot, 'mesh.db'))
    await running(async ({ ledger }) => {
      expect(createOfferPinLog(ledger).pins(NODE).get(PIN.key)).toBe(PIN.hash)
      expect(createOfferPinLog(ledger).prefixes()).toEqual(expect.arrayContaining([...before]))
    })
  })
})

describe('the community file of a node', () => {
  const command = (): MeshCommandContext => ({ config, dataRoot, name: 'attic' })
  const MESH_FILES = ['mesh.db', 'mesh.db-wal', 'mesh.db-shm']

  /** A copy of the mesh database, to be put back. */
  function keepMeshFiles(): () => void {
    const kept = mkdtempSync(join(tmpdir(), 'hearthbus-mesh-kept-'))
    const present = MESH_FILES.filter((name) => existsSync(join(dataRoot, name)))
    for (const name of present) cpSync(join(dataRoot, name), join(kept, name))
    return () => {
      for (const name of MESH_FILES) rmSync(join(dataRoot, name), { force: true })
      for (const name of present) cpSync(join(kept, name), join(dataRoot, name))
      rmSync(kept, { recursive: true })
    }
  }

  beforeEach(async () => {
    await running(async () => undefined)
    await createOwnCommunity(command(), 'village')
    await running(async () => undefined)
  })

  it('is reported as missing by verify when it is removed, until it is restored or the community is left', async () => {
    const missing = [
      expect.stringMatching(/^The member list of ed25519:.* was removed; the ledger has it \(entry \d+\)/),
    ]
    expect(await verify()).toEqual([])
    const putBack = keepMeshFiles()
    tamper("DELETE FROM fact WHERE name LIKE 'community%'")
    expect(await verify()).toEqual(missing)
    for (const name of MESH_FILES) rmSync(join(dataRoot, name), { force: true })
    expect(await verify()).toEqual(missing)
    await running(async () => undefined)
    expect(await verify()).toEqual(missing)
    putBack()
    expect(await verify()).toEqual([])
    rmSync(join(dataRoot, 'mesh.db'))
    expect((await leaveCommunity(command(), { abandon: false })).text).toContain('whose member list was lost')
    expect(await verify()).toEqual([])
  })

  it('restored from an older copy does not bring back a community that was left', async () => {
    const putBack = keepMeshFiles()
    expect((await leaveCommunity(command(), { abandon: true })).text).toContain('This node has left village')
    expect(await verify()).toEqual([])
    putBack()
    expect(await verify()).toEqual([
      'The member list of the community was added or changed; the ledger does not have it.',
    ])
    expect(await start()).toMatchObject({
      ok: false,
      fault: { message: expect.stringContaining('this node has left that community') as string },
    })
  })
})

describe('ledger entries about offers', () => {
  it('pin a capability once, and accept an acceptance once', async () => {
    await running(async ({ ledger }) => {
      const offers = createOfferPinLog(ledger)
      await offers.pin(NODE, [PIN, { ...PIN, hash: 'c'.repeat(64) }])
      await offers.pin(NODE, [{ ...PIN, hash: 'd'.repeat(64) }])
      expect(offers.pins(NODE).get(PIN.key)).toBe(PIN.hash)
      const [[capability = ''] = []] = ledger.projections.state(offerPinProjection).pins.get(NODE) ?? []
      const again = { kind: 'offer.pinned', node_id: NODE, pins: [`${capability} ${'d'.repeat(64)}`] }
      await expect(ledger.append(again)).rejects.toThrow('another definition was pinned before')
      const shown = { name: 'attic.fan.set', title: '', description: '', effect: 'reads', why: 'changed' } as const
      const acceptance = { id: '1', nodeId: NODE, digest: '', offers: [{ ...shown, ...PIN, hash: 'd'.repeat(64) }] }
      await offers.accept(acceptance)
      expect([offers.pins(NODE).get(PIN.key), offers.pins(NODE).size]).toEqual(['d'.repeat(64), 1])
      await expect(offers.accept(acceptance)).rejects.toThrow('that acceptance was taken before')
      expect(await verify()).toEqual([])
    })
  })

  it('hold thousands of capability names of one node', async () => {
    await running(async ({ ledger }) => {
      const offers = createOfferPinLog(ledger)
      const names = Array.from({ length: 4_000 }, (_, number) => ({ ...PIN, key: `${'n'.repeat(190)}${number}` }))
      await offers.pin(NODE, names)
      expect(offers.pins(NODE).size).toBe(4_000)
    })
  })
})
