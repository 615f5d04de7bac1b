/**
 * Call pipeline: the one function that every call of the bus goes through, handed to it at construction.
 *
 * The bus knows nothing of locks, audit or policy; the pipeline knows nothing of routing. `next` routes the call to a
 * provider, runs it, and records trace and health. For a stream it resolves when the last frame has been taken.
 */
import type { Call, Outcome } from './call.ts'
import type { Offer } from './capability.ts'

export type NextHandler = (call: Call) => Promise<Outcome>

/** `offer` is `undefined` for a name that nobody offers: such a call is audited, too. */
export type CallPipeline = (call: Call, offer: Offer | undefined, next: NextHandler) => Promise<Outcome>
