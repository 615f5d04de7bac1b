/** Defined bus: a bus with its message definitions, and what is said when there are none. */
import type { Fault } from '../../core/fault.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { BusDefinitions } from '../definitions/bus-definitions.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import { createEbusNotFoundFault } from './faults.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { findHeatingBus } from './ebus-tool-context.ts'

const CIRCUITS_NAMED = 20

export function getBusDefinitions(
  context: EbusToolContext,
  bus: string | undefined,
): Result<{ readonly heating: HeatingBusClient; readonly definitions: BusDefinitions }, Fault> {
  const heating = findHeatingBus(context, bus)
  if (!heating.ok) return heating
  const { definitions } = heating.value.installation
  if (definitions !== undefined) return ok({ heating: heating.value, definitions })
  const origin = context.definitions
  if (origin === undefined)
    return fail(createEbusNotFoundFault('This house has no message definitions. The owner can set ebus.definitions.'))
  return fail(
    createEbusNotFoundFault(origin.problem ?? 'The message definitions are being loaded; try again in a moment.'),
  )
}

export function createUndecodableMessageFault({ circuit, name }: MessageDefinition, because: string): Fault {
  return {
    kind: 'failed',
    code: 'PROTOCOL_ERROR',
    message: `The answer does not fit the definition of ${circuit} ${name} (${because}).`,
    details: { source_layer: 'registry' },
  }
}

/** With what there is, so that the next call can be right. */
export function createUnknownMessageFault(
  definitions: BusDefinitions,
  { circuit, name }: { readonly circuit: string; readonly name: string },
): Fault {
  const same = definitions.messages.filter((message) => message.circuit.toLowerCase() === circuit.toLowerCase())
  const circuits = new Set(definitions.messages.map((message) => message.circuit))
  const named = same.filter((message) => message.name.toLowerCase() === name.toLowerCase())
  if (named.length > 0) return createEbusNotFoundFault(`${circuit} ${name} ${explainRefusal(definitions, named)}`)
  return createEbusNotFoundFault(
    same.length === 0
      ? `There is no circuit ${circuit}; there is ${[...circuits].slice(0, CIRCUITS_NAMED).join(', ') || 'none yet'}.`
      : `Circuit ${circuit} has no such message ${name}; ebus.v1.messages.find lists its ${same.length}.`,
  )
}

/** Why a message that is defined cannot be used in this way. */
function explainRefusal(definitions: BusDefinitions, named: readonly MessageDefinition[]): string {
  const available = named.filter((message) => definitions.isAvailable(message))
  if (available.length === 0) return 'does not apply to this device: a condition of its definition does not hold.'
  if (available.every(({ isWrite, isPassive }) => isWrite && !isPassive)) return 'can only be written, not read.'
  return 'can only be read or heard, not written.'
}
