/**
 * A service of one's own on the bus: a garden tap, with a reading that anybody may take and a change that is guarded.
 *
 * It is called like everything else: over MCP, with `hearthbus call garden.tap.get`, from another service. To try it,
 * run the gateway that has it: own-gateway.ts. docs/services.md says what else a service can do.
 */
import { z } from 'zod'
// Where the package is installed, this is `from 'hearthbus'`.
import { busFamily, defineChange, defineTool, ok } from '../src/hearthbus.ts'
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
    family: busFamily,
  }).handledBy(async () => ok({ data: { open } }))

  const set = defineChange({
    name: 'garden.tap.set',
    title: 'Open or close the garden tap',
    description: 'Opens or closes the garden tap. Water runs while it is open.',
    input: state.extend({ dry_run: z.boolean().default(false) }),
    output: state,
    effect: 'writes',
    family: busFamily,
    // Two of these must not overlap; limits, approvals and the owner's rules go by the target.
    lock: 'garden:tap',
    plan: (wanted) => ok({ from: open, to: wanted.open }),
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

  return {
    name: 'garden',
    prefixes: ['garden.'],
    capabilities: () => [get, set],
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    health: () => ({ status: 'ok', details: { open } }),
  }
}
