import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering, echo } from '../../test/bus-village.ts'
import { runtimeRig } from '../../test/runtime-rig.ts'
import type { Rig } from '../../test/runtime-rig.ts'
import { silentLogger } from '../core/logger.ts'
import { createCheckpointSigningRetryJob } from './signing-retry.ts'

let rig: Rig
let lastSigned: string
let retry: () => Promise<void>

beforeEach(async () => {
  rig = await runtimeRig()
  lastSigned = join(rig.folder, 'signed')
  retry = createCheckpointSigningRetryJob(rig.ledger, silentLogger)
  await rig.ledger.checkpoint()
  rig.bus.registerCapability(answering({ name: 'light.set', effect: 'writes' }, echo))
  rig.bus.registerCapability(
    answering({ name: 'light.look', effect: 'writes', assess: () => ({ effect: 'reads', reasons: [] }) }, echo),
  )
  rig.bus.registerCapability(answering({ name: 'light.read' }, echo))
})
afterEach(() => rig.close())

async function preventSignature(): Promise<void> {
  renameSync(lastSigned, `${lastSigned}.away`)
  mkdirSync(lastSigned)
  await rig.ledger.append({ kind: 'test' })
  expect(await rig.ledger.checkpoint()).toMatchObject({ ok: false, fault: { kind: 'last-signed-unwritable' } })
}

function allowSignature(): void {
  rmSync(lastSigned, { recursive: true })
  renameSync(`${lastSigned}.away`, lastSigned)
}

describe('a checkpoint that cannot be stored', () => {
  it('is recorded once, retried, and recorded again when signing resumes', async () => {
    await retry()
    expect(rig.entries('signing.failed')).toEqual([])
    const signed = rig.ledger.latestCheckpoint()?.checkpoint.size
    await preventSignature()
    await retry()
    rig.clock.advance(60_000)
    await retry()
    expect(rig.entries('signing.failed')).toMatchObject([{ signed }])
    allowSignature()
    await retry()
    expect(rig.entries('signing.resumed')).toMatchObject([{ entries: 2, seconds: 60 }])
    await retry()
    expect([rig.entries('signing.failed').length, rig.entries('signing.resumed').length]).toEqual([1, 1])
    expect(rig.ledger.signingOutage()).toBeUndefined()
  })

  it('is reported in the health of the node and as a finding until signing resumes', async () => {
    await preventSignature()
    const health = (): string => JSON.stringify(rig.service.health())
    expect(health()).toContain('entries are not signed')
    expect(await rig.data('ledger_verify', { full: true })).toMatchObject({ valid: false })
    allowSignature()
    await retry()
    await rig.ledger.verify()
    expect(health()).not.toContain('not signed')
    expect(await rig.data('ledger_verify', { full: true })).toMatchObject({ valid: true, findings: [] })
  })

  it('makes the node refuse changes after ten minutes, but neither reads nor records', async () => {
    await preventSignature()
    rig.clock.advance(9 * 60_000)
    expect(await rig.through('light.set')).toMatchObject({ ok: true })
    rig.clock.advance(2 * 60_000)
    expect(await rig.through('light.set')).toMatchObject({
      ok: false,
      fault: { message: expect.stringContaining('could not be signed for too long') },
    })
    expect(await rig.through('light.look')).toMatchObject({ ok: true })
    expect(await rig.through('light.read')).toMatchObject({ ok: true })
    expect(await rig.through('task_create', { title: 'a' })).toMatchObject({ ok: true })
    allowSignature()
    await retry()
    expect(await rig.through('light.set')).toMatchObject({ ok: true })
  })

  it('makes the node refuse changes after 10,000 unsigned entries', async () => {
    await preventSignature()
    await Promise.all(Array.from({ length: 10_001 }, () => rig.ledger.append({ kind: 'test' })))
    expect(await rig.through('light.set')).toMatchObject({ ok: false })
    expect(await rig.through('light.read')).toMatchObject({ ok: true })
  })
})
