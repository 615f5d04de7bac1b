/**
 * Watch text: an event of the gateway's stream as a line for a person.
 *
 *   12:00:01  calls        hs4.devices.set ok, server_ping ok
 *   12:00:02  approval     requested: Front door, by kitchen-agent
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { ConsoleStreamEvents } from '../web/views.ts'
import { sanitizeForTerminal, toOneLine } from './command-output.ts'

export interface WatchedFeedEvent {
  readonly id: string
  readonly event: string
  readonly data: Json
}

/** `undefined` for events that would hide the others: a heating bus has a new telegram every second. */
export function formatWatchLine({ event, data }: WatchedFeedEvent, now: Date): string | undefined {
  if (!isJsonObject(data)) return undefined
  const summary = event in SUMMARIES ? SUMMARIES[event as keyof ConsoleStreamEvents](data) : JSON.stringify(data)
  if (summary === undefined) return undefined
  return `${now.toLocaleTimeString('en-GB')}  ${event.padEnd(12)} ${sanitizeForTerminal(toOneLine(summary))}`.trimEnd()
}

const SUMMARIES: Readonly<Record<keyof ConsoleStreamEvents, (data: JsonObject) => string | undefined>> = {
  hello: ({ node, resumed }) => `${word(node)}${resumed === true ? ', going on where it was left' : ''}`,
  calls: ({ calls, skipped }) => {
    // Calls arrive newest first, and are printed oldest first.
    const lines = list(calls)
      .toReversed()
      .map((call) => `${field(call, 'capability')} ${field(call, 'result')}`)
    return [...(Number(skipped) > 0 ? [`${word(skipped)} others`] : []), ...lines].join(', ')
  },
  approval: ({ state, shown, binding }) =>
    `${word(state)}: ${field(shown, 'label') || field(shown, 'title')}, by ${field(binding, 'principal')}`,
  registry: ({ added, removed }) => {
    const parts = [
      ['came or changed', list(added)],
      ['went', list(removed)],
    ] as const
    return parts
      .filter(([, names]) => names.length > 0)
      .map(([verb, names]) => `${verb}: ${someOf(names.map(word))}`)
      .join('; ')
  },
  ledger: ({ size, state, checkpointSize }) =>
    `${word(size)} entries, ${word(state)}, ${checkpointSize === null ? 'not signed yet' : `last signed at ${word(checkpointSize)}`}`,
  verification: ({ running, size, findings }) => {
    if (running === true) return undefined
    const found = list(findings).map(word)
    return found.length === 0 ? `${word(size)} entries, all in order` : found.join(' ')
  },
  state: ({ mode, stopped, inFlight, services }) => {
    const busy = Number(inFlight) > 0 ? [`${word(inFlight)} calls under way`] : []
    const states = list(services).map((service) => `${field(service, 'name')} ${field(service, 'status')}`)
    return [word(mode), ...(stopped === true ? ['STOPPED'] : []), ...states, ...busy].join(', ')
  },
  // Only that the resource changed is known, not how, so nothing is printed.
  resource: () => undefined,
  history: () => undefined,
}

const MANY = 8

function someOf(names: readonly string[]): string {
  const more = names.length - MANY
  return `${names.slice(0, MANY).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function field(value: Json | undefined, name: string): string {
  return isJsonObject(value) ? word(value[name]) : ''
}

function word(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
