/**
 * A service of one's own on the bus: a garden tap, with a reading that anybody may take and a change that is guarded.
 *
 * It is called like everything else: over MCP, with `hearthbus call garden.tap.get`, from another service. To try it,
 * run the gateway that has it: own-gateway.ts. docs/services.md says what else a service can do.
 */
import { z } from 'zod'
// Where the package is installed, this is `from 'hearthbus'`.
import { defineChange, defineService, defineTool, fail, ok } from '../src/hearthbus.ts'
import type { Service } from '../src/hearthbus.ts'

const state = z.strictObject({ open: z.boolean() })

export function gardenService(): Service {
  let open = false

  const get = defineTool({
    name: 'garden.tap.get',
    title: 'Garden tap',
    description: 'Says whether the garden tap is open. Changes nothing.',
    input: z.strictObject({}),
    output: state,
    effect: 'reads',
  }).handledBy(async () => ok({ data: { open } }))

  const set = defineChange({
    name: 'garden.tap.set',
    title: 'Open or close the garden tap',
    description: 'Opens or closes the garden tap. Water runs while it is open.',
    input: state.extend({ dry_run: z.boolean().default(false) }),
    output: state,
    effect: 'writes',
    // Two of these must not overlap; limits, approvals and the owner's rules go by the target.
    lock: 'garden:tap',
    // What can be wrong is found here: the caller hears it before anybody is asked, and nothing is charged for it.
    plan: (wanted) =>
      wanted.open === open
        ? fail({ kind: 'conflict', message: `The garden tap is ${open ? 'open' : 'closed'} already.` })
        : ok({ from: open, to: wanted.open }),
    assess: ({ from, to }, { dry_run: dryRun }) => ({
      effect: 'writes',
      target: 'garden:tap',
      label: 'Garden tap',
      reasons: [],
      dryRun,
      preview: { before: { open: from }, after: { open: to } },
    }),
    rehearse: ({ to }) => ok({ data: { open: to } }),
    act: ({ to }) => {
      open = to
      return ok({ data: { open } })
    },
  })

  /** Frames as they come, then the answer. A caller that wants only the end hears of the progress. */
  const water = defineChange({
    name: 'garden.bed.water',
    title: 'Water the bed',
    description: 'Opens the tap, lets so many litres run, and closes it.',
    input: z.strictObject({ litres: z.int().min(1).max(50) }),
    output: z.strictObject({ litres: z.number() }),
    frames: z.strictObject({
      event: z.literal('progress'),
      data: z.strictObject({ current: z.number(), total: z.number() }),
    }),
    effect: 'writes',
    stability: 'beta',
    lock: 'garden:bed',
    plan: ({ litres }) => ok({ litres }),
    assess: ({ litres }) => ({
      effect: 'writes',
      target: 'garden:bed',
      label: 'Garden bed',
      reasons: [],
      preview: { after: { litres } },
    }),
    actStream: async function* ({ litres }, _input, context) {
      // Another capability, in the caller's name and within its time; the guard decides about it as about any call.
      const opened = await context.call('garden.tap.set', { open: true })
      if (!opened.ok) return opened
      for (let current = 1; current <= litres && !context.signal.aborted; current++)
        yield { event: 'progress', data: { current, total: litres } }
      const closed = await context.call('garden.tap.set', { open: false })
      return closed.ok ? ok({ data: { litres } }) : closed
    },
  })

  return defineService({
    name: 'garden',
    capabilities: [get, set, water],
    health: () => ({ status: 'ok', details: { open } }),
  })
}
