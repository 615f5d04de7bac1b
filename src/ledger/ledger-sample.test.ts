/**
 * A look at some entries. What is drawn is recomputed here from the proof by the published rule.
 */
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from '../../test/runtime-rig.ts'
import type { Rig } from '../../test/runtime-rig.ts'
import { fromHex, toHex } from '../core/bytes.ts'
import { randomDrawProjection } from './random-draw-state.ts'
import { verifyVrfProof } from './ecvrf.ts'
import type { LedgerEntry } from './entry.ts'
import { ProjectionRuleVerification } from './projection.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
  for (let count = 0; count < 40; count++) await rig.through('task_create', { title: `tester ${count}` })
})
afterEach(() => rig.close())

interface Drawn {
  readonly alpha_hex: string
  readonly public_key_hex: string
  readonly proof_hex: string
  readonly output_hex: string
  readonly entries: readonly number[]
}

/** SHA-256(output ‖ decimal counter), its first 8 bytes modulo the size, sixteen different ones. */
function expectedEntries(beta: Uint8Array, size: bigint): readonly number[] {
  const drawn = new Set<number>()
  for (let counter = 0; drawn.size < 16; counter++) {
    const hash = createHash('sha256').update(beta).update(String(counter)).digest()
    const value = hash.readBigUInt64BE(0)
    if (value < 2n ** 64n - (2n ** 64n % size)) drawn.add(Number(value % size))
  }
  return [...drawn].toSorted((left, right) => left - right)
}

describe('random sample of ledger entries', () => {
  it('consists of the entries drawn by the proof for the checkpoint size, and is recorded', async () => {
    const answer = await rig.data('ledger_verify', { sample: true })
    expect(answer).toMatchObject({ valid: true, findings: [] })
    const { alpha_hex, public_key_hex, proof_hex, output_hex, entries } = answer['draw'] as Drawn
    expect(Buffer.from(alpha_hex, 'hex').toString()).toBe(
      `{"draw":"hearthbus/vrf/v1","epoch":0,"house":"rig","number":${String(answer['size'])},"purpose":"sample"}`,
    )
    const beta = verifyVrfProof(fromHex(public_key_hex), fromHex(alpha_hex), fromHex(proof_hex))
    expect(beta && toHex(beta)).toBe(output_hex)
    expect(entries).toEqual(expectedEntries(beta ?? new Uint8Array(), BigInt(Number(answer['size']))))
    const [recorded] = rig.entries('ledger.sampled')
    expect(recorded).toMatchObject({ size: answer['size'], proof: proof_hex, output: output_hex, entries, findings: 0 })
  })

  it('is returned but not recorded for a caller that may not write records', async () => {
    await rig.data('ledger_checkpoint')
    const looks = { caller: { kind: 'principal', id: 'eye', role: 'observer' } } as const
    expect(await rig.data('ledger_verify', { sample: true }, looks)).toMatchObject({ valid: true })
    expect(rig.entries('ledger.sampled')).toEqual([])
  })

  it('finds a changed byte in a drawn entry', async () => {
    await rig.data('ledger_checkpoint')
    rig.tamperLog('tester', 'tosser')
    // Every entry of a call was changed, so whatever is drawn shows it.
    const answer = await rig.data('ledger_verify', { sample: true })
    expect(answer).toMatchObject({ valid: false })
    expect(answer['findings']).not.toEqual([])
  })

  it('is reported as unlawful by an audit when it names entries that were not drawn', async () => {
    const { draw } = (await rig.data('ledger_verify', { sample: true })) as unknown as { draw: Drawn }
    const [entry] = rig.entries('ledger.sampled') as unknown as readonly LedgerEntry[]
    const start = { v: 1, seq: 0, at: '2026-01-01T00:00:00.000Z', kind: 'node.start', node: 'rig' } as const
    const findings = (change: object): readonly string[] => {
      const audit = new ProjectionRuleVerification([randomDrawProjection])
      audit.read({ ...start, vrf_key: draw.public_key_hex })
      if (entry !== undefined) audit.read({ ...entry, ...change })
      return audit.unlawful.map(({ why }) => why)
    }
    expect(findings({})).toEqual([])
    expect(findings({ entries: draw.entries.slice(1) })).toEqual(['it looked at other entries than were drawn'])
    expect(findings({ entries: draw.entries.with(0, 1_000) })).toEqual(['it looked at other entries than were drawn'])
    expect(findings({ output: '00'.repeat(64) })).toEqual(['it names another output than its proof proves'])
    expect(findings({ size: 1_000_000 })).toEqual(['it is about entries that were not there'])
    expect(findings({ proof: draw.proof_hex.replace(/^../, '00') })[0]).toMatch(/proof/)
  })
})
