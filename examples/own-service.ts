/**
 * A service of one's own on the bus: a garden tap, with a reading that anybody may take and a change that is guarded.
 *
 * It is called like everything else: over MCP, with `hearthbus call garden.tap.get`, from another service. To try it,
 * run the gateway that has it: own-gateway.ts.
 */
import { z } from 'zod'
// Where the package is installed, this is `from 'hearthbus'`.
import { busFamily, defineTool, ok } from '../src/hearthbus.ts'
import type { Service } from '../src/hearthbus.ts'

const state = z.strictObject({ open: z.boolean() })

const get = defineTool({
  name: 'garden.tap.get',
  title: 'Garden tap',
  description: 'Says whether the garden tap is open. Changes nothing.',
  input: z.strictObject({}),
  output: state,
  effect: 'reads',
  family: busFamily,
})

const set = defineTool({
  name: 'garden.tap.set',
  title: 'Open or close the garden tap',
  description: 'Opens or closes the garden tap. Water runs while it is open.',
  input: state,
  output: state,
  effect: 'writes',
  family: busFamily,
  // Two of these must not overlap; limits, approvals and the owner's rules go by the target.
  lock: 'garden:tap',
  assess: ({ open }) => ({
    effect: 'writes',
    target: 'garden:tap',
    label: 'Garden tap',
    reasons: [],
    preview: { open },
  }),
})

export function gardenService(): Service {
  let open = false
  return {
    name: 'garden',
    prefixes: ['garden.'],
    capabilities: () => [
      get.handledBy(async () => ok({ data: { open } })),
      set.handledBy(async (wanted, call) => {
        if (!call.rehearsal) open = wanted.open
        return ok({ data: { open: call.rehearsal ? wanted.open : open } })
      }),
    ],
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    health: () => ({ status: 'ok', details: { open } }),
  }
}
