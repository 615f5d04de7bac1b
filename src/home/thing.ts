/**
 * Thing: one thing of the home that a person would name, whichever family it belongs to, as it was last seen.
 *
 * A handle stays the same as long as the thing does: `hs:101`, `device:desk-lamp:lamp`, `zone:living`.
 */
import type { JsonObject } from '../core/json.ts'
import type { ThingKind, WishWord } from './home-words.ts'

export interface Thing {
  readonly handle: string
  /** As its family has it: a stranger's words. */
  readonly name: string
  /** What people taught that it is called, too. */
  readonly aliases?: readonly string[]
  /** A room of the picture, by its key; `undefined` for what is in none. */
  readonly room: string | undefined
  readonly floor: string | undefined
  readonly kind: ThingKind
  /** What it shows, in the words of its family: a stranger's words. */
  readonly state: string | undefined
  readonly isOn: boolean | undefined
  /** What a control with a range is at now. */
  readonly level?: number | undefined
  /** For what opens: blinds, doors, windows. */
  readonly isOpen: boolean | undefined
  readonly isLocked: boolean | undefined
  readonly ageSeconds: number | undefined
  /** Whether a change of it is put before a person. */
  readonly isSensitive: boolean
  /** What it can be told; empty for what only tells. */
  readonly controls: readonly ThingControl[]
}

/** One thing that a thing can be told, and the call that does it. */
export interface ThingControl {
  readonly wish: WishWord | 'level' | 'temperature' | 'colour' | 'label'
  readonly label?: string
  readonly minimum?: number
  readonly maximum?: number
  /** `value`: the number that was wished for, where the control takes one; a colour is red, green and blue in one. */
  readonly callFor: (value: number | undefined) => ThingCall
}

export interface ThingCall {
  readonly tool: string
  readonly arguments: JsonObject
}

/** Kinds that are never changed many at once. */
const SINGLE_ONLY: ReadonlySet<ThingKind> = new Set([
  'lock',
  'door',
  'valve',
  'heater',
  'alarm',
  'thermostat',
  'camera',
])

export function mayBeSetWithOthers({ kind, isSensitive }: Thing): boolean {
  return !isSensitive && !SINGLE_ONLY.has(kind)
}
