import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture, ORIGIN } from '../../test/ledger-fixture.ts'
import { configSchema } from '../config/schema.ts'
import { Database } from '../core/database-store.ts'
import { silentLogger } from '../core/logger.ts'
import { createCosigner, formatVerifierKey } from '../ledger/note-key.ts'
import { startWitness } from '../ledger/witness-server.ts'
import { witnessMigrations, CosignedCheckpointStore } from '../ledger/cosigned-checkpoint-store.ts'
import { createWitnessCosigningJob } from './cosigning-client.ts'

let fixture: LedgerFixture
beforeEach(async () => {
  fixture = await LedgerFixture.open()
})
afterEach(() => fixture.remove())

describe('witness cosigning job', () => {
  it('signs an entry appended during a round in the next round', async () => {
    const { ledger, clock } = fixture
    let meanwhile: Promise<unknown> | undefined
    const signer = createCosigner('witness.test/w', generateKeyPairSync('ed25519').privateKey, () => {
      meanwhile ??= ledger.append({ kind: 'test' })
      return clock.now()
    })
    const database = new Database({ path: join(fixture.directory, 'witness.db'), migrations: [witnessMigrations] })
    const logs = new Map([[ORIGIN, [fixture.signer.key]]])
    const witness = await startWitness(new CosignedCheckpointStore({ database, signer, logs }), {
      host: '127.0.0.1',
      port: 0,
    })
    const witnesses = [{ vkey: formatVerifierKey(signer.key), url: witness.url }]
    const cosign = createWitnessCosigningJob(configSchema.parse({ ledger: { witnesses } }), ledger, silentLogger)
    if (!cosign.ok) throw new Error(cosign.fault.message)
    await ledger.append({ kind: 'test' })
    await cosign.value()
    await meanwhile
    expect(ledger.latestCheckpoint()?.checkpoint.size).toBe(1)
    await cosign.value()
    expect(ledger.latestCheckpoint()?.checkpoint.size).toBe(2)
    await witness.close()
    database.close()
  })

  it('logs an unreachable witness once, however often it is tried', async () => {
    const { key } = createCosigner('witness.test/w', generateKeyPairSync('ed25519').privateKey, () => 0)
    // Nobody listens at port 1.
    const witnesses = [{ vkey: formatVerifierKey(key), url: 'http://127.0.0.1:1' }]
    const warnings: string[] = []
    const cosign = createWitnessCosigningJob(configSchema.parse({ ledger: { witnesses } }), fixture.ledger, {
      ...silentLogger,
      warn: (_, message) => void warnings.push(message),
    })
    if (!cosign.ok) throw new Error(cosign.fault.message)
    await fixture.ledger.append({ kind: 'test' })
    for (let round = 0; round < 3; round++) await cosign.value()
    expect(warnings).toEqual(['a witness did not cosign; it is asked again each time'])
  })

  it('refuses the key of a log as the key of a witness', () => {
    const vkey = formatVerifierKey(fixture.signer.key)
    const config = configSchema.parse({ ledger: { witnesses: [{ vkey, url: 'http://192.0.2.1' }] } })
    expect(createWitnessCosigningJob(config, fixture.ledger, silentLogger)).toMatchObject({
      ok: false,
      fault: { kind: 'misconfigured', message: expect.stringContaining('it is a log’s key; a witness prints its own') },
    })
  })

  it('refuses a witness key that is not a key', () => {
    const config = configSchema.parse({ ledger: { witnesses: [{ vkey: 'none', url: 'http://192.0.2.1' }] } })
    expect(createWitnessCosigningJob(config, fixture.ledger, silentLogger)).toMatchObject({
      ok: false,
      fault: { kind: 'misconfigured' },
    })
  })
})
