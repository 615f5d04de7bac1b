/**
 * Arguments: what several tools take.
 */
import { z } from 'zod'

export const busArgument = z
  .string()
  .max(64)
  .exactOptional()
  .describe('Which bus, where there are several; the first one configured if left out.')

/** `live` and ` SNAPSHOT ` are understood, too. */
const mode = z
  .string()
  .trim()
  .toUpperCase()
  .pipe(z.enum(['LIVE', 'SNAPSHOT']))
  .meta({ enum: ['LIVE', 'SNAPSHOT'] })

/** Ours have 32 hex digits; longer ones are somebody else's. */
const id = z.string().trim().min(1).max(64)

/** Spec 1: LIVE when omitted, SNAPSHOT with a required id. An id without a mode means LIVE. */
export const consistencyArgument = z
  .strictObject({
    mode: mode.exactOptional().describe('LIVE, the default, is now; SNAPSHOT is as it was captured.'),
    snapshot_id: id.exactOptional().describe('From snapshot.capture; needed for SNAPSHOT.'),
  })
  .refine((given) => given.mode !== 'SNAPSHOT' || given.snapshot_id !== undefined, {
    message: 'SNAPSHOT needs the id of one',
    path: ['snapshot_id'],
  })
  .exactOptional()

export type ReadConsistency = { readonly mode?: 'LIVE' | 'SNAPSHOT'; readonly snapshot_id?: string } | undefined

/** What every reading tool takes. */
export const viewArguments = { consistency: consistencyArgument, bus: busArgument }

export const includeFieldFreshnessArgument = z
  .boolean()
  .default(false)
  .describe('Also say of every field where it came from and how old it is; otherwise only of those that are old.')

/** 0 to 255, though 253 is the last that a device can have: a wrong one is answered as NOT_FOUND, not as a mistake. */
export const addressArgument = z.int().min(0).max(255).describe('The device: any of its addresses on the bus.')
/** Spec 1: left out it means all that is kept, which the stores bound (docs/adr/0100). */
export const busLimitArgument = z
  .int()
  .min(1)
  .exactOptional()
  .describe('Only this many of the newest; all that are kept if left out, which can be long. `count` says how many.')

/** Bounded, since keys are kept for a day (guard.idempotencyHours). */
export const ebusIdempotencyKeyArgument = z
  .string()
  .trim()
  .min(1)
  .max(512)
  .describe('A new one for each change. The same key with the same arguments acts once, however often it is sent.')
