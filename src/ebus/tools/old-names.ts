/**
 * Old names: what clients of the older gateway call, each a longer way to the tool that it is called now.
 *
 *   ebus.invoke ──forward──▶ ebus.v1.rpc.invoke           ebus.devices ──forward──▶ ebus.v1.registry.devices.list
 *
 * Guard, approval, key, lock and record are those of the tool itself, so that what the owner says of it holds for both.
 *
 * Pure, given the bus.
 */
import type { CapabilityBus } from '../../bus/bus.ts'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Assessment, Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/tool.ts'
import type { Clock } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { ebusFamily } from './envelope.ts'
import { devicesList, listWords } from './registry-tools.ts'
import { INVOKE, legacyInput, output } from './rpc-tools.ts'

export interface Forwarding {
  readonly bus: Pick<CapabilityBus, 'call'>
  readonly clock: Pick<Clock, 'monotonic'>
}

const common = {
  family: ebusFamily,
  // Forwarding changes nothing. What the named tool does is judged, and if need be approved, when that is called.
  assess: (): Assessment => ({ effect: 'reads', reasons: [] }),
} as const

const legacyInvoke = defineTool({
  ...common,
  name: 'ebus.invoke',
  title: 'Call a method of a device (old name)',
  description: `As ${INVOKE}, with intent READ_ONLY unless told otherwise; what is allowed there is allowed here.`,
  effect: 'writes',
  idempotent: false,
  input: legacyInput,
  output,
})

const legacyDevices = defineTool({
  ...common,
  ...listWords,
  name: 'ebus.devices',
  title: 'List the devices (old name)',
  effect: 'reads',
})

export function oldNames(forwarding: Forwarding): readonly Capability[] {
  const to = (name: string) => (body: JsonObject, call: Call) => forward(forwarding, call, { name, body })
  return [legacyInvoke.handledBy(to(INVOKE)), legacyDevices.handledBy(to(devicesList.offer.name))]
}

function forward(
  { bus, clock }: Forwarding,
  call: Call,
  { name, body }: { readonly name: string; readonly body: JsonObject },
): Promise<Outcome> {
  const { caller, channel, traceId, parentSpan, signal, heldLocks, interaction } = call
  const timeoutMs = Math.max(0, call.deadlineMs - clock.monotonic())
  const options = { caller, channel, traceId, parentSpan, signal, heldLocks, interaction, timeoutMs, hopBudget: 0 }
  return bus.call(name, undefined, body, options)
}
