import { generateKeyPairSync } from 'node:crypto'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture, ORIGIN } from '../../test/ledger-fixture.ts'
import { Database } from '../core/database-store.ts'
import { formatSignedCheckpoint } from './checkpoint.ts'
import { requestCosignatures } from './cosigning.ts'
import { verifyNote } from './signed-note.ts'
import { createCosigner } from './note-key.ts'
import type { NoteSigner } from './note-key.ts'
import { verifyTlogProof } from './tlog-proof.ts'
import { WitnessClient } from './witness-client.ts'
import { startWitness } from './witness-server.ts'
import type { WitnessServer } from './witness-server.ts'
import { witnessMigrations, CosignedCheckpointStore } from './cosigned-checkpoint-store.ts'
import { formatAddCheckpointRequest, formatCosignedCheckpointPath } from './witness.ts'

let fixture: LedgerFixture
let signer: NoteSigner
let database: Database
let server: WitnessServer

async function start(): Promise<void> {
  database = new Database({ path: join(fixture.directory, 'witness.db'), migrations: [witnessMigrations] })
  const logs = new Map([[ORIGIN, [fixture.signer.key]]])
  server = await startWitness(new CosignedCheckpointStore({ database, signer, logs }), { host: '127.0.0.1', port: 0 })
}

async function stop(): Promise<void> {
  await server.close()
  database.close()
}

const client = (url = server.url, key = signer.key) => new WitnessClient({ url, key, timeoutMs: 5_000 })

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  signer = createCosigner('witness.test/w', generateKeyPairSync('ed25519').privateKey, fixture.clock.now)
  await start()
})

afterEach(async () => {
  await stop()
  fixture.remove()
})

async function request(oldSize: number): Promise<string> {
  const signed = await fixture.checkpoint()
  const proof = fixture.ledger.consistency(oldSize, signed.checkpoint.size)
  return formatAddCheckpointRequest({ oldSize, proof: proof.ok ? proof.value.path : [], signed })
}

const post = (body: string | Uint8Array<ArrayBuffer>) => fetch(`${server.url}/add-checkpoint`, { method: 'POST', body })

describe('witness server', () => {
  it('limits idle connections and still cosigns', async () => {
    const { hostname, port } = new URL(server.url)
    const silent = Array.from({ length: 300 }, () => connect(Number(port), hostname).on('error', () => undefined))
    await expect.poll(() => silent.filter(({ destroyed }) => destroyed).length).toBeGreaterThanOrEqual(44)
    await fixture.fill(5)
    expect((await post(await request(0))).status).toBe(200)
    for (const socket of silent) socket.destroy()
  })

  it('answers with a timestamped cosignature and publishes the checkpoint for monitors', async () => {
    await fixture.fill(5)
    const response = await post(await request(0))
    expect(response.status).toBe(200)
    const line = await response.text()
    expect(line).toMatch(/^— witness\.test\/w [A-Za-z0-9+/=]+\n$/)

    const shown = await (await fetch(server.url + formatCosignedCheckpointPath(ORIGIN))).text()
    const signed = fixture.ledger.latestCheckpoint()
    expect(shown).toBe((signed && formatSignedCheckpoint(signed)) + line)
  })

  it('answers 409 with the size it knows and the content type for it', async () => {
    await fixture.fill(5)
    await post(await request(0))
    await fixture.fill(9)
    const response = await post(await request(0))
    expect(response.status).toBe(409)
    expect(response.headers.get('content-type')).toBe('text/x.tlog.size')
    expect(await response.text()).toBe('5\n')
  })

  it('stores only the signature of the log, not other signatures of the request', async () => {
    await fixture.fill(5)
    const body = await request(0)
    // As many lines as a note may have: with its own the witness could not read it any more.
    const line = await (await post(`${body}${'— a.stranger AAAAAAAA\n'.repeat(99)}`)).text()
    const shown = await (await fetch(server.url + formatCosignedCheckpointPath(ORIGIN))).text()
    expect(shown).toBe(formatSignedCheckpoint(await fixture.checkpoint()) + line)
    await fixture.fill(9)
    expect((await post(await request(5))).status).toBe(200)
  })

  it('knows the last checkpoint after a restart', async () => {
    await fixture.fill(5)
    await post(await request(0))
    await stop()
    await start()
    expect((await post(await request(0))).status).toBe(409)
    await fixture.fill(9)
    expect((await post(await request(5))).status).toBe(200)
  })

  it('accepts one of two concurrent requests, and never cosigns a smaller tree afterwards', async () => {
    for (let round = 1; round <= 10; round++) {
      const [before, small, large] = [(round - 1) * 10, round * 10 - 5, round * 10]
      await fixture.fill(small)
      const smaller = { size: small, body: await request(before) }
      await fixture.fill(large)
      const larger = { size: large, body: await request(before) }
      const both = round % 2 === 0 ? [smaller, larger] : [larger, smaller]
      const answers = await Promise.all(
        both.map(async ({ size, body }) => ({ size, status: (await post(body)).status })),
      )
      const accepted = answers.filter(({ status }) => status === 200)
      expect(accepted).toHaveLength(1)
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(1)
      const shown = await (await fetch(server.url + formatCosignedCheckpointPath(ORIGIN))).text()
      expect(Number(shown.split('\n')[1])).toBe(accepted[0]?.size)
      expect((await post(await request(accepted[0]?.size ?? 0))).status).toBe(200)
    }
  })

  it.each([
    ['GET', '/add-checkpoint', 405],
    ['GET', '/', 404],
    ['GET', `/${'0'.repeat(64)}/checkpoint`, 404],
    ['POST', '/elsewhere', 404],
  ])('answers %s %s with %i', async (method, path, status) => {
    expect((await fetch(server.url + path, { method })).status).toBe(status)
  })

  it('answers bad requests with an error and continues', async () => {
    expect((await post('nonsense')).status).toBe(400)
    expect((await post(new Uint8Array([0xff, 0xfe]))).status).toBe(400)
    expect((await post('old 0\n'.repeat(20_000))).status).toBe(413)
    await fixture.fill(1)
    expect((await post(await request(0))).status).toBe(200)
  })

  it('returns no cosignature if it could not store the checkpoint', async () => {
    await fixture.fill(5)
    const body = await request(0)
    database.close()
    expect((await post(body)).status).toBe(500)
  })
})

describe('witness client', () => {
  it('collects a cosignature with which a proof satisfies a policy', async () => {
    await fixture.fill(300)
    const round = await requestCosignatures(fixture.ledger, [client()])
    expect(round).toMatchObject({ ok: true, value: { cosigned: ['witness.test/w'], faults: [] } })
    expect(round.ok && verifyNote(round.value.signed.note, [signer.key])).toMatchObject({ ok: true })
    const policy = {
      logs: [{ key: fixture.ledger.verifierKey, url: undefined }],
      witnesses: [{ name: 'w', key: signer.key, url: undefined }],
      groups: [],
      quorum: 'w',
    }
    const proof = await fixture.ledger.proofText(42)
    const bytes = fixture.ledger.entry(42)?.bytes ?? new Uint8Array(0)
    expect(proof.ok && verifyTlogProof(proof.value, bytes, policy)).toMatchObject({ ok: true })
    expect((await fixture.ledger.verify()).findings).toEqual([])
  })

  it('retries from the size that the witness knows', async () => {
    await fixture.fill(5)
    await requestCosignatures(fixture.ledger, [client()])
    await fixture.fill(300)
    expect(await requestCosignatures(fixture.ledger, [client()])).toMatchObject({ ok: true, value: { faults: [] } })
    const again = client()
    expect(await requestCosignatures(fixture.ledger, [again])).toMatchObject({ ok: true, value: { faults: [] } })
    await fixture.fill(310)
    expect(await requestCosignatures(fixture.ledger, [again])).toMatchObject({ ok: true, value: { faults: [] } })
  })

  it('can request the same checkpoint any number of times', async () => {
    await fixture.fill(5)
    const asked = client()
    for (let round = 0; round < 110; round++) await requestCosignatures(fixture.ledger, [asked])
    expect(fixture.ledger.latestCheckpoint()?.note.signatures).toHaveLength(2)
    expect((await fixture.ledger.verify()).findings).toEqual([])
  })

  it('keeps the cosignatures of reachable witnesses when others fail', async () => {
    await fixture.fill(5)
    const gone = client('http://127.0.0.1:9')
    const stranger = createCosigner('witness.test/x', generateKeyPairSync('ed25519').privateKey, Date.now)
    const round = await requestCosignatures(fixture.ledger, [gone, client(), client(server.url, stranger.key)])
    expect(round).toMatchObject({
      ok: true,
      value: {
        cosigned: ['witness.test/w'],
        faults: [{ kind: 'witness-unreachable' }, { kind: 'witness-answer-unreadable' }],
      },
    })
  })

  it('learns from the witness that the ledger was restored from an older copy, and refuses', async () => {
    await fixture.fill(300)
    await requestCosignatures(fixture.ledger, [client()])
    const putBack = await fixture.backup()
    await fixture.fill(320)
    await requestCosignatures(fixture.ledger, [client()])

    fixture.database.close()
    putBack({ lastSigned: true })
    await fixture.open()
    expect(fixture.ledger.state()).toEqual({ kind: 'sound' })
    await fixture.ledger.append({ kind: 'another.history' })
    const fault = { kind: 'truncated', size: 301, signedSize: 320, source: 'witness' }
    expect(await requestCosignatures(fixture.ledger, [client()])).toEqual({ ok: false, fault })
    expect(fixture.ledger.state()).toEqual({ kind: 'refusing', fault })
    await expect(fixture.ledger.append({ kind: 'test' })).rejects.toThrow('as a witness can show')
  })

  it('learns of a restored ledger even if it has outgrown the cosigned size', async () => {
    await fixture.fill(300)
    const putBack = await fixture.backup()
    await fixture.fill(320)
    await requestCosignatures(fixture.ledger, [client()])
    fixture.database.close()
    putBack({ lastSigned: true })
    await fixture.open()
    fixture.clock.advance(1)
    await fixture.fill(340)
    expect(await requestCosignatures(fixture.ledger, [client()])).toEqual({
      ok: false,
      fault: { kind: 'diverged', size: 340, signedSize: 320, source: 'witness' },
    })
  })
})
