import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture, ORIGIN } from '../../test/ledger-fixture.ts'
import { formatSignedCheckpoint } from './checkpoint.ts'
import { LedgerRefusalError } from './ledger-state.ts'
import { Ledger } from './ledger.ts'
import { formatNote, parseNote, signNote, verifyNote } from './signed-note.ts'
import { createCosigner, createLogSigner } from './note-key.ts'
import { edited } from '../../test/ledger-attack.ts'

let fixture: LedgerFixture

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  await fixture.fill(300)
})

afterEach(() => fixture.remove())

const refusal = () => {
  const state = fixture.ledger.state()
  return state.kind === 'refusing' ? state.fault : undefined
}

describe('signing a checkpoint', () => {
  it('writes the checkpoint to the last-signed file before it returns', async () => {
    const signed = await fixture.checkpoint()
    expect(readFileSync(fixture.lastSignedPath, 'utf8')).toBe(formatSignedCheckpoint(signed))
  })

  it('returns the last checkpoint again after a restart', async () => {
    const signed = await fixture.checkpoint()
    await fixture.reopen()
    expect(fixture.ledger.latestCheckpoint()).toEqual(signed)
    expect(await fixture.checkpoint()).toEqual(signed)
  })

  it('accepts its own file after a crash between writing the file and the database', async () => {
    const signed = await fixture.checkpoint()
    await fixture.reopen((sql) => sql.exec('DELETE FROM ledger_checkpoint'))
    expect(fixture.ledger.state()).toEqual({ kind: 'sound' })
    expect(await fixture.checkpoint()).toEqual(signed)
    expect((await fixture.ledger.verify()).findings).toEqual([])
  })

  it('continues when the file is older than the database', async () => {
    await fixture.checkpoint()
    const old = readFileSync(fixture.lastSignedPath)
    await fixture.fill(310)
    await fixture.checkpoint()
    writeFileSync(fixture.lastSignedPath, old)
    await fixture.reopen()
    expect(fixture.ledger.latestCheckpoint()?.checkpoint.size).toBe(310)
    await fixture.fill(320)
    expect((await fixture.checkpoint()).checkpoint.size).toBe(320)
  })

  it('reports that the file cannot be written, and still appends entries', async () => {
    const { database, signer, clock, log: directory } = fixture
    const lastSignedPath = join(fixture.directory, 'nowhere', 'last-signed')
    const ledger = await Ledger.open({ database, signer, clock, origin: ORIGIN, lastSignedPath, directory })
    expect(await ledger.checkpoint()).toMatchObject({ ok: false, fault: { kind: 'last-signed-unwritable' } })
    expect(ledger.state()).toEqual({ kind: 'sound' })
    expect(ledger.latestCheckpoint()).toBeUndefined()
    expect((await ledger.append({ kind: 'test' })).seq).toBe(300)
  })

  it('refuses a signer whose name differs from the origin of the log', async () => {
    const { database, lastSignedPath, clock } = fixture
    const signer = createLogSigner('another.name', generateKeyPairSync('ed25519').privateKey)
    await expect(Ledger.open({ database, signer, clock, origin: ORIGIN, lastSignedPath })).rejects.toThrow('is named')
  })
})

describe('a database that differs from the last signed checkpoint', () => {
  it('is refused when it is an older copy: no entry, no signature, and a message with the remedy', async () => {
    await fixture.checkpoint()
    const putBack = await fixture.backup()
    await fixture.fill(310)
    await fixture.checkpoint()
    fixture.database.close()
    putBack()
    await fixture.open()

    expect(refusal()).toEqual({ kind: 'truncated', size: 300, signedSize: 310, source: 'file' })
    const refused = fixture.ledger.append({ kind: 'test' })
    await expect(refused).rejects.toThrow(LedgerRefusalError)
    await expect(refused).rejects.toThrow(/holds 300 entries.*has signed 310.*Restore the newest copy/)
    expect(await fixture.ledger.checkpoint()).toMatchObject({ ok: false, fault: { kind: 'truncated' } })
    expect(await fixture.ledger.adopt()).toMatchObject({ ok: false, fault: { kind: 'truncated' } })
    await expect(fixture.ledger.abortOpenCalls()).rejects.toThrow(LedgerRefusalError)
    expect((await fixture.ledger.verify()).findings).toEqual([
      { kind: 'tail-missing', where: 'file', size: 300, signed: 310 },
    ])
  })

  it('is refused when an entry was rewritten with all hashes recomputed', async () => {
    await fixture.checkpoint()
    await fixture.rewrite((entries) => entries.map((entry) => edited(entry, 'agent-7', 'agent-8')))
    expect(refusal()).toEqual({ kind: 'diverged', size: 300, signedSize: 300, source: 'file' })
    await expect(fixture.ledger.append({ kind: 'test' })).rejects.toThrow('are not the ones this node has signed')
    expect(await fixture.ledger.proofText(3)).toMatchObject({ ok: false, fault: { kind: 'diverged' } })
  })

  it('is detected by the checkpoints in the database when the file was restored as well', async () => {
    await fixture.checkpoint()
    const file = readFileSync(fixture.lastSignedPath)
    await fixture.fill(310)
    await fixture.checkpoint()
    writeFileSync(fixture.lastSignedPath, file)
    await fixture.rewrite((entries) => entries.slice(0, 305))
    expect(refusal()).toEqual({ kind: 'truncated', size: 305, signedSize: 310, source: 'database' })
  })

  it('is refused at the next signature when the file changes while the node runs', async () => {
    await fixture.checkpoint()
    const text = `${ORIGIN}\n400\n${Buffer.alloc(32).toString('base64')}\n`
    await fixture.fill(310)
    writeFileSync(fixture.lastSignedPath, formatNote(signNote(text, [fixture.signer])))
    expect(await fixture.ledger.checkpoint()).toMatchObject({
      ok: false,
      fault: { kind: 'truncated', signedSize: 400 },
    })
    await expect(fixture.ledger.append({ kind: 'test' })).rejects.toThrow(LedgerRefusalError)
  })

  it('is refused when a tile is missing that the tail no longer covers', async () => {
    fixture.segmentEntries = 50
    await fixture.reopen()
    await fixture.fill(900)
    await fixture.checkpoint()
    await fixture.reopen(() => {
      for (const path of ['tile/0/001', 'nodes']) rmSync(join(fixture.log, path))
    })
    expect(refusal()).toMatchObject({ kind: 'damaged', reason: 'tile 0/1 of 256 hashes is not stored' })
    expect(fixture.ledger.inclusion(1)).toMatchObject({ ok: false, fault: { kind: 'damaged' } })
    await expect(fixture.ledger.append({ kind: 'test' })).rejects.toThrow('hearthbus ledger verify')
    expect((await fixture.ledger.verify()).findings).toContainEqual({ kind: 'file-missing', path: 'tile/0/001' })
  })
})

describe('last-signed file', () => {
  beforeEach(() => fixture.checkpoint())

  it('is reported as missing until a person adopts the database, which is recorded', async () => {
    rmSync(fixture.lastSignedPath)
    await fixture.reopen()
    expect(refusal()).toMatchObject({ kind: 'last-signed-missing', signedSize: 300 })
    expect((await fixture.ledger.verify()).findings).toMatchObject([{ kind: 'last-signed-missing' }])
    expect(await fixture.ledger.adopt()).toMatchObject({ ok: true, value: { checkpoint: { size: 301 } } })
    expect(fixture.ledger.state()).toEqual({ kind: 'sound' })
    expect(fixture.ledger.entry(300)?.entry).toMatchObject({ kind: 'ledger.adopted', fault: 'last-signed-missing' })
    expect((await fixture.ledger.verify()).findings).toEqual([])
  })

  it('is written again by the running process, also after its folder was unavailable', async () => {
    rmSync(fixture.lastSignedPath)
    await fixture.fill(310)
    expect(await fixture.ledger.checkpoint()).toMatchObject({ ok: true, value: { checkpoint: { size: 310 } } })
    expect(readFileSync(fixture.lastSignedPath, 'utf8')).toContain('\n310\n')
    renameSync(fixture.directory, `${fixture.directory}-away`)
    await fixture.fill(320)
    expect(await fixture.ledger.checkpoint()).toMatchObject({ ok: false, fault: { kind: 'last-signed-unwritable' } })
    expect(fixture.ledger.state()).toEqual({ kind: 'sound' })
    renameSync(`${fixture.directory}-away`, fixture.directory)
    expect(await fixture.ledger.checkpoint()).toMatchObject({ ok: true, value: { checkpoint: { size: 320 } } })
  })

  it('replaced while the node runs makes the ledger refuse', async () => {
    const text = readFileSync(fixture.lastSignedPath, 'utf8')
    writeFileSync(fixture.lastSignedPath, text.replace('\n300\n', '\n299\n'))
    await fixture.fill(310)
    expect(await fixture.ledger.checkpoint()).toMatchObject({ ok: false, fault: { kind: 'last-signed-invalid' } })
    expect(refusal()).toMatchObject({ kind: 'last-signed-invalid' })
  })

  it.each([
    ['cut short', (text: string) => text.slice(0, 40), 'it cannot be read'],
    ['with another size', (text: string) => text.replace('\n300\n', '\n299\n'), 'signature of hearthbus.test/ledger'],
    ['empty', () => '', 'it cannot be read'],
  ])('is refused when it is %s', async (_, change, reason) => {
    writeFileSync(fixture.lastSignedPath, change(readFileSync(fixture.lastSignedPath, 'utf8')))
    await fixture.reopen()
    expect(refusal()).toMatchObject({ kind: 'last-signed-invalid' })
    await expect(fixture.ledger.append({ kind: 'test' })).rejects.toThrow(reason)
    expect(await fixture.ledger.adopt()).toMatchObject({ ok: true })
  })

  it('is refused when another key signed it', async () => {
    fixture.database.close()
    const other = new LedgerFixture(fixture.directory)
    await other.open()
    const state = other.ledger.state()
    other.database.close()
    await fixture.open()
    expect(state).toMatchObject({ kind: 'refusing', fault: { kind: 'last-signed-invalid' } })
  })
})

describe('cosignatures', () => {
  const witness = createCosigner('witness.test/w', generateKeyPairSync('ed25519').privateKey, () => 1_700_000_000_000)

  it('are stored with their checkpoint, which later proofs use', async () => {
    const signed = await fixture.checkpoint()
    const verified = verifyNote(signNote(signed.note.text, [witness]), [witness.key])
    if (!verified.ok) throw new Error('not cosigned')
    const cosigned = await fixture.ledger.addCosignatures(signed, verified.value)
    expect(cosigned.note.signatures).toHaveLength(2)
    expect(fixture.ledger.latestCheckpoint()).toEqual(cosigned)

    await fixture.fill(305)
    await fixture.checkpoint()
    await fixture.reopen()
    const proof = await fixture.ledger.proofText(7)
    const note = parseNote(proof.ok ? proof.value.slice(proof.value.indexOf('\n\n') + 2) : '')
    expect(note.ok && verifyNote(note.value, [witness.key])).toMatchObject({ ok: true })
    expect((await fixture.ledger.verify()).findings).toEqual([])
  })

  it('are stored up to the limit of a readable note, the first ones first', async () => {
    const many = Array.from({ length: 120 }, (_, count) =>
      createCosigner(`witness.test/${count}`, generateKeyPairSync('ed25519').privateKey, () => 1_700_000_000_000),
    )
    const signed = await fixture.checkpoint()
    for (const some of [many.slice(0, 10), many]) {
      const verified = verifyNote(
        signNote(signed.note.text, some),
        many.map(({ key }) => key),
      )
      if (!verified.ok) throw new Error('not cosigned')
      await fixture.ledger.addCosignatures(signed, verified.value)
    }
    const { signatures } = fixture.ledger.latestCheckpoint()?.note ?? { signatures: [] }
    expect(signatures).toHaveLength(65)
    expect(signatures[0]?.name).toBe(ORIGIN)
    await fixture.fill(305)
    await fixture.checkpoint()
    await fixture.reopen()
    expect(fixture.ledger.state()).toEqual({ kind: 'sound' })
    expect((await fixture.ledger.verify()).findings).toEqual([])
  })

  it('of another text are refused', async () => {
    const signed = await fixture.checkpoint()
    const verified = verifyNote(signNote('something else\n', [witness]), [witness.key])
    if (!verified.ok) throw new Error('not cosigned')
    await expect(fixture.ledger.addCosignatures(signed, verified.value)).rejects.toThrow('did not cosign')
  })
})
