/**
 * Thing: one thing of the home that a person would name, whichever family it belongs to, as it was last seen.
 *
 * A handle stays the same as long as the thing does: `hs:101`, `device:desk-lamp:lamp`, `zone:living`.
 */
import type { JsonObject } from '../core/json.ts'
import type { ThingKind, ThingCommand } from './home-words.ts'

export interface Thing {
  readonly handle: string
  /** The name that its family gives it; untrusted text. */
  readonly name: string
  /** Aliases that people taught. */
  readonly aliases?: readonly string[]
  /** The key of its room in the snapshot; `undefined` for a thing without a room. */
  readonly room: string | undefined
  readonly floor: string | undefined
  readonly kind: ThingKind
  /** Its state in its family's words; untrusted text. */
  readonly state: string | undefined
  readonly isOn: boolean | undefined
  /** The present value of a control with a range. */
  readonly level?: number | undefined
  /** For things that open: blinds, doors, windows. */
  readonly isOpen: boolean | undefined
  readonly isLocked: boolean | undefined
  readonly ageSeconds: number | undefined
  /** Whether a change of it needs a person's approval. */
  readonly isSensitive: boolean
  /** Its controls; empty for what can only be read. */
  readonly controls: readonly ThingControl[]
}

/** One control of a thing, and the call for it. */
export interface ThingControl {
  readonly wish: ThingCommand | 'level' | 'temperature' | 'colour' | 'label'
  readonly label?: string
  readonly minimum?: number
  readonly maximum?: number
  /**
   * The call for a value. `value` is the requested number, if the control takes one; a colour is red, green and blue in
   * one number.
   */
  readonly callFor: (value: number | undefined) => ThingCall
}

export interface ThingCall {
  readonly tool: string
  readonly arguments: JsonObject
}

/** Kinds that are only changed one at a time. */
const SINGLE_ONLY: ReadonlySet<ThingKind> = new Set([
  'lock',
  'door',
  'valve',
  'heater',
  'alarm',
  'thermostat',
  'camera',
])

export function mayBeSetInGroup({ kind, isSensitive }: Thing): boolean {
  return !isSensitive && !SINGLE_ONLY.has(kind)
}
