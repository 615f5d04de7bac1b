import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { collect, ME, node, reply } from '../../test/bus-village.ts'
import { defaultFamilyEnvelope } from './default-family-envelope.ts'
import { ok } from '../core/result.ts'
import { DELEGATING_CHANGE_STEPS, defineChange, defineTool, hasZodGeneratedSchemas } from './capability-definition.ts'

const require = createRequire(import.meta.url)

const counting = defineTool({
  name: 'count.up',
  title: 'Count',
  description: 'Counts up to a number. Nothing in the house changes.',
  input: z.strictObject({ to: z.int().min(0).max(100).default(3) }),
  output: z.strictObject({ counted: z.int() }),
  frames: z.strictObject({ event: z.literal('count'), data: z.int() }),
  effect: 'reads',
  family: defaultFamilyEnvelope,
  params: { unit: 'one' },
  matches: { unit: 'equals' },
  anywhere: true,
})

describe('a locally defined tool', () => {
  // First in this file: whatever runs before it might have loaded the compiler.
  it('is registered without loading a schema compiler', () => {
    expect(node('a').registerCapability(counting.streamedBy(countUp))).toEqual({ ok: true, value: undefined })
    expect(Object.keys(require.cache).filter((path) => path.includes('/ajv/'))).toEqual([])
  })

  it('streams frames that are checked against its own schema', async () => {
    const bus = node('a')
    bus.registerCapability(counting.streamedBy(countUp))
    const stream = bus.stream('count.up', [1, 0], {}, ME)
    expect(await collect(stream)).toEqual([1, 2, 3].map((data) => ({ event: 'count', data })))
    expect(await stream.outcome).toMatchObject(reply({ counted: 3 }))
  })

  it('has its definition in its offer', () => {
    expect(counting.offer).toMatchObject({
      trustRequired: 'member',
      idempotent: true,
      anywhere: true,
      params: { unit: 'one' },
      matches: { unit: 'equals' },
      streamSchema: { type: 'object', required: ['event', 'data'] },
    })
  })

  it('is trusted as well-formed, but a copy of its offer is not', () => {
    expect([hasZodGeneratedSchemas(counting.offer), hasZodGeneratedSchemas({ ...counting.offer })]).toEqual([
      true,
      false,
    ])
  })

  it('that changes something requires trusted peers and is not idempotent', () => {
    const { offer } = defineChange({
      name: 'door.open',
      title: 'Open',
      description: 'Opens the door.',
      input: z.strictObject({}),
      output: z.strictObject({}),
      effect: 'sensitive',
      family: defaultFamilyEnvelope,
      ...DELEGATING_CHANGE_STEPS,
      act: () => ok({ data: {} }),
    })
    expect(offer).toMatchObject({ trustRequired: 'trusted', idempotent: false, streamSchema: undefined })
    expect(offer.anywhere).toBeUndefined()
  })
})

async function* countUp({ to }: { to: number }) {
  for (let data = 1; data <= to; data++) yield { event: 'count', data }
  return reply({ counted: to })
}
