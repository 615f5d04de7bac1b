/**
 * Legacy tools: the tool names of the older gateway, each of which forwards to the present tool.
 *
 *   ebus.invoke ──forward──▶ ebus.v1.rpc.invoke           ebus.devices ──forward──▶ ebus.v1.registry.devices.list
 *
 * Guard, approval, key, lock and record are those of the present tool, so that the owner's rules for it apply to both.
 *
 * Pure: the bus does the work.
 */
import type { Capability } from '../../bus/capability.ts'
import { DELEGATING_CHANGE_STEPS, defineChange, defineTool } from '../../bus/capability-definition.ts'
import { ebusFamilyEnvelope } from './ebus-envelope.ts'
import { devicesListTool, devicesListDefinition } from './registry-tools.ts'
import { INVOKE_TOOL_NAME, legacyInvokeInputSchema, rpcOutputSchema } from './rpc-arguments.ts'

const legacyInvoke = defineChange({
  family: ebusFamilyEnvelope,
  name: 'ebus.invoke',
  title: 'Call a method of a device (old name)',
  description: `As ${INVOKE_TOOL_NAME}, with intent READ_ONLY unless told otherwise; what is allowed there is allowed here.`,
  effect: 'writes',
  idempotent: false,
  input: legacyInvokeInputSchema,
  output: rpcOutputSchema,
  ...DELEGATING_CHANGE_STEPS,
  act: (_plan, invocation, context) => context.call(INVOKE_TOOL_NAME, invocation, { isLocal: true }),
})

const legacyDevices = defineTool({
  ...devicesListDefinition,
  family: ebusFamilyEnvelope,
  name: 'ebus.devices',
  title: 'List the devices (old name)',
  effect: 'reads',
}).handledBy((wanted, context) => context.call(devicesListTool.offer.name, wanted, { isLocal: true }))

export const LEGACY_EBUS_TOOLS: readonly Capability[] = [legacyInvoke, legacyDevices]
