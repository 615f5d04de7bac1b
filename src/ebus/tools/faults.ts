/**
 * Faults: faults of the bus as messages for a model or a person.
 *
 * A change counts as "not tried" only if nothing of it was on the wire; otherwise its outcome is unknown, because the
 * far end may have carried it out (docs/adr/0004).
 */
import type { ArgumentIssue } from '../../bus/capability.ts'
import type { Fault, FaultKind } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { EbusSendFault } from '../adapter/ebus-connection.ts'
import { mayTargetHaveActed } from '../adapter/ebus-connection.ts'
import { formatBusAddress } from '../observe/observation.ts'
import type { RegisterReadFault } from '../semantic/register-reader.ts'
import type { EbusErrorCode, ErrorSourceLayer } from './ebus-envelope.ts'
import type { BusReachability } from './ebus-view.ts'

/** `where` is the layer with the problem, and further details for the caller. */
function fault(
  kind: FaultKind,
  code: EbusErrorCode,
  message: string,
  where: ErrorSourceLayer | (JsonObject & { readonly source_layer: ErrorSourceLayer }),
): Fault {
  return { kind, code, message, details: typeof where === 'string' ? { source_layer: where } : where }
}

export function createEbusNotFoundFault(message: string): Fault {
  return fault('not-found', 'NOT_FOUND', message, 'registry')
}

export function createEbusArgumentFault(argument: string, message: string): Fault {
  return createEbusArgumentsFault([{ path: argument.split('.'), message, code: 'custom' }])
}

/** For mistakes that only the registry's tables show; the chain reports arguments that do not fit the schema. */
export function createEbusArgumentsFault(issues: readonly ArgumentIssue[]): Fault {
  const message = issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')
  const formatted = issues.map(({ path, message: text, code }) => ({ path: [...path], message: text, code }))
  return fault('invalid-arguments', 'INVALID_ARGUMENT', message, { source_layer: 'registry', issues: formatted })
}

/** Why a value is unknown: it could not be read. `undefined` if it could, so that null is the answer. */
export function createBusUnreachableFault(reach: BusReachability): Fault | undefined {
  if (reach === 'connected') return undefined
  return fault(
    'offline',
    'BUS_UNAVAILABLE',
    `${OUT_OF_REACH[reach]}, so nothing is known about this; that does not mean that there is nothing. The gateway keeps trying.`,
    'bus',
  )
}

const OUT_OF_REACH: Readonly<Record<Exclude<BusReachability, 'connected'>, string>> = {
  disconnected: 'The eBUS adapter cannot be reached',
  no_signal: 'The adapter is there, but the bus carries no signal',
  forbidden: 'ebusd was started without --enablehex and sends nothing for others',
}

/** The fault for a failed read, which changed nothing. */
export function createBusReadFault(cause: RegisterReadFault, target: number): Fault {
  const who = formatBusAddress(target)
  switch (cause.kind) {
    case 'resting':
      return {
        ...fault(
          'busy',
          'BUS_UNAVAILABLE',
          `${who} has just failed twice (${cause.because}) and is not asked again for a moment.`,
          'bus',
        ),
        retryAfterMs: Math.ceil(cause.forMs),
      }
    case 'listen-only':
      return fault(
        'not-permitted',
        'PERMISSION_DENIED',
        'The owner allows this gateway to listen on this bus, not to send.',
        'gateway',
      )
    case 'refused':
      return fault('failed', 'PROTOCOL_ERROR', `${who} rejects this request (NAK).`, 'bus')
    // `busy`: the request is fine, and the next attempt may succeed.
    case 'answer-garbled':
      return fault('busy', 'PROTOCOL_ERROR', `The answer of ${who} arrived garbled, twice.`, 'bus')
    case 'no-answer':
      return fault('timed-out', 'TIMEOUT', `No device answers at ${who}.`, 'bus')
    case 'answer-lost':
      return fault('timed-out', 'TIMEOUT', `${who} acknowledged, but its answer did not come.`, 'bus')
    case 'timed-out': {
      const { phase } = cause
      const within = `within ${Math.round(cause.afterMs)} ms`
      // A device that was never asked is not the cause.
      const message =
        phase === 'talking' ? `No answer of ${who} ${within}.` : `The bus was not free ${within}; ${who} was not asked.`
      return fault('timed-out', 'TIMEOUT', message, { source_layer: 'bus', phase })
    }
    default:
      return untried(cause)
  }
}

/** The fault for a failed change. */
export function createBusWriteFault(cause: RegisterReadFault, target: number): Fault {
  if (cause.kind === 'resting' || cause.kind === 'listen-only' || cause.kind === 'refused')
    return createBusReadFault(cause, target)
  if (mayTargetHaveActed(cause))
    return fault(
      'unknown-outcome',
      'UNKNOWN_OUTCOME',
      `The change was sent to ${formatBusAddress(target)} and no answer says whether it took effect (${cause.kind}). Check the state before trying again.`,
      { source_layer: 'bus', cause: cause.kind },
    )
  if (cause.kind === 'no-answer')
    return fault('offline', 'TIMEOUT', `No device answers at ${formatBusAddress(target)}; nothing was changed.`, 'bus')
  if (cause.kind === 'cancelled') return createCancelledBusCallFault()
  // Not `timed-out`, which would leave open whether anything was sent.
  if (cause.kind === 'timed-out')
    return fault(
      'busy',
      'TIMEOUT',
      `The bus was not free within ${Math.round(cause.afterMs)} ms; nothing was sent.`,
      'bus',
    )
  return untried(cause)
}

/**
 * Of a kind which states that nothing was tried, so that the idempotency key of a call that was cancelled in time is
 * free again.
 */
export function createCancelledBusCallFault(): Fault {
  return fault('busy', 'CANCELLED', 'The call was withdrawn before anything was sent.', 'gateway')
}

/** The bus could not be used. */
function untried(cause: Exclude<EbusSendFault, { readonly kind: 'refused' }>): Fault {
  const say = (kind: FaultKind, message: string): Fault => fault(kind, 'BUS_UNAVAILABLE', message, 'bus')
  switch (cause.kind) {
    case 'disconnected':
      return say('offline', `The adapter is not connected (${cause.reason}).`)
    case 'no-signal':
      return say('offline', 'The bus carries no signal: cable, power, or a stuck line.')
    case 'adapter-reset':
      return say('offline', 'The adapter restarted in the middle of it.')
    case 'closed':
      return say('offline', 'The gateway is stopping.')
    case 'no-source':
      return say(
        'offline',
        cause.state === 'forbidden'
          ? 'ebusd sends nothing for others. Start it with --enablehex.'
          : `This gateway has no address on the bus (${cause.state}).`,
      )
    case 'arbitration-lost':
      return say(
        'busy',
        `Other initiators won the arbitration ${cause.attempts} times, last ${formatBusAddress(cause.winner)}. The bus is busy.`,
      )
    case 'collision':
      return say(
        'busy',
        `The telegram was garbled ${cause.attempts} times: another device sends at the same time, or the line is bad.`,
      )
    case 'queue-full':
      return say('busy', `${cause.capacity} telegrams wait already.`)
    case 'cancelled':
      return fault('cancelled', 'CANCELLED', 'The call was withdrawn.', 'gateway')
    case 'ebusd':
      return LINE_TAKEN.test(cause.message)
        ? say('busy', `ebusd says: ${cause.message}`)
        : fault('failed', 'PROTOCOL_ERROR', `ebusd says: ${cause.message}`, 'bus')
    default:
      return say('busy', `The bus is busy (${cause.kind}).`)
  }
}

/** ebusd's messages for a lost arbitration and a disturbed line: the next attempt may succeed. */
const LINE_TAKEN = /^ERR: (arbitration|SYN received|wrong symbol|ACK error)/
