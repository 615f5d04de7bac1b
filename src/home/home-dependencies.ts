/**
 * Home dependencies: what the tools of the home need, and helpers for their answers.
 */
import { DELEGATING_CHANGE_STEPS } from '../bus/capability-definition.ts'
import { z } from 'zod'
import type { CapabilityBus } from '../bus/bus.ts'
import type { Caller, Outcome, Reply } from '../bus/call.ts'
import type { JsonObject } from '../core/json.ts'
import { ok } from '../core/result.ts'
import type { Clock } from '../core/clock.ts'
import type { Guard } from '../guard/guard.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { homeFamilyEnvelope } from './home-envelope.ts'
import type { RoomAliasesByName } from './room.ts'

export interface HomeDependencies {
  readonly bus: Pick<CapabilityBus, 'offer' | 'offers' | 'call' | 'announceResource'>
  readonly guard: Pick<Guard, 'approvals' | 'visible' | 'mayRead' | 'services'>
  readonly ledger: Pick<Ledger, 'append' | 'changes' | 'changesInLog' | 'body' | 'entriesOfTrace' | 'projections'>
  readonly clock: Clock
  readonly rooms: RoomAliasesByName
  /** Names that the owner configured for a thing, by its handle. */
  readonly aliases: Readonly<Record<string, readonly string[]>>
  /** The present principal that made a request at that time; `undefined` where its credential has ended. */
  readonly principalNow: (key: string, requestedAtMs: number) => Caller | undefined
  readonly report: (error: unknown, message: string) => void
}

export const reasonForChangeArgument = z.string().min(3).max(300).describe('Why, for the record.')

/** Defaults that all home tools share. */
export const HOME_TOOL_DEFINITION_DEFAULTS = {
  family: homeFamilyEnvelope,
  composes: true,
  output: z.looseObject({ say: z.string() }),
  completeClaims: ({ why }: JsonObject): JsonObject =>
    reasonForChangeArgument.safeParse(why).success ? {} : { why: 'The caller gave no reason.' },
} as const

/** Defaults of tools that only delegate: their nested calls are planned, decided about and recorded themselves. */
export const DELEGATING_HOME_TOOL_DEFAULTS = {
  ...HOME_TOOL_DEFINITION_DEFAULTS,
  ...DELEGATING_CHANGE_STEPS,
  effect: 'writes',
  idempotent: false,
} as const

export const previewArgument = z.boolean().default(false).describe('Only say what would happen.')
export const thingArgument = z.string().min(1).max(120).describe('A handle, or what people call it.')

export function createSentenceAnswer(sentence: string, more: JsonObject = {}): Outcome {
  return ok({ data: { say: sentence, ...more } })
}

/**
 * Answers with the pictures and sounds of a family's reply. Its text blocks are left out: they are a device's or
 * another node's own words, and clients show them as if they were ours.
 */
export function createMediaAnswer({ content = [], ...reply }: Reply, data: JsonObject): Outcome {
  const pictures = content.filter(({ type }) => type === 'image' || type === 'audio')
  if (pictures.length === 0) return ok({ ...reply, data })
  return ok({ ...reply, data, content: [...pictures, { type: 'text', text: JSON.stringify(data) }] })
}
