/**
 * Dependencies: what the tools of the home are made with, and how they answer.
 */
import { z } from 'zod'
import type { CapabilityBus } from '../bus/bus.ts'
import type { Caller, Outcome } from '../bus/call.ts'
import type { JsonObject } from '../core/json.ts'
import { ok } from '../core/result.ts'
import type { Clock } from '../core/clock.ts'
import type { Guard } from '../guard/guard.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { homeFamily } from './home-envelope.ts'
import type { RoomTable } from './room.ts'

export interface HomeParts {
  readonly bus: Pick<CapabilityBus, 'offer' | 'offers' | 'call'>
  readonly guard: Pick<Guard, 'approvals' | 'visible' | 'mayRead' | 'services'>
  readonly ledger: Pick<Ledger, 'append' | 'changes' | 'body' | 'entriesOfTrace' | 'projections'>
  readonly clock: Clock
  readonly rooms: RoomTable
  /** Who a principal is now that asked for something at that time; `undefined` where the credential is gone. */
  readonly principalNow: (key: string, askedAtMs: number) => Caller | undefined
  readonly report: (error: unknown, message: string) => void
}

/** What every tool of the home has in common. */
export const HOME_TOOL_DEFAULTS = { family: homeFamily, output: z.looseObject({ say: z.string() }) } as const

export const whyArgument = z.string().min(3).max(300).describe('Why, for the record.')
export const previewArgument = z.boolean().default(false).describe('Only say what would happen.')
export const thingArgument = z.string().min(1).max(120).describe('A handle, or what people call it.')

export function sayAnswer(sentence: string, more: JsonObject = {}): Outcome {
  return ok({ data: { say: sentence, ...more } })
}
