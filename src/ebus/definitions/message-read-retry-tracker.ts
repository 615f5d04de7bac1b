/**
 * Message read retry tracker: messages that are read repeatedly until they are answered or given up, because no device
 * may answer.
 */
import type { MessageDefinition } from './message-definition.ts'

/** `bus`: busy or disturbed, which says nothing about the device. */
export type MessageReadFailure = 'refused' | 'no-answer' | 'bus'

interface FailedReads {
  readonly count: number
  readonly sinceMs: number
  /** When a condition may cause the next read. */
  readonly againMs: number
}

const READ_ATTEMPTS = 4
const REFUSALS = 2
/** A device that restarts is back within this time. */
const SILENCE_MS = 60_000
const RETRY_MS = 10_000

export class MessageReadRetryTracker {
  readonly #requested = new Set<MessageDefinition>()
  readonly #givenUp = new Set<MessageDefinition>()
  /** Messages whose reads have failed since their last answer. */
  readonly #failed = new Map<MessageDefinition, FailedReads>()

  /** The first message that was not read since its last failure, and is due. */
  takeDue(awaited: Iterable<MessageDefinition>, nowMs: number): MessageDefinition | undefined {
    for (const message of awaited)
      if (!this.#requested.has(message) && (this.#failed.get(message)?.againMs ?? nowMs) <= nowMs) {
        this.#requested.add(message)
        return message
      }
    return undefined
  }

  noteAnswer(message: MessageDefinition): void {
    this.#failed.delete(message)
  }

  /**
   * Notes a failed read and returns whether the message is given up. A plane's message is read again by the poll. A
   * condition's message may decide for good which file is read, so a device must have refused it twice, or not have
   * answered for a minute.
   */
  noteFailure(
    message: MessageDefinition,
    failure: MessageReadFailure,
    { nowMs, decides }: { readonly nowMs: number; readonly decides: boolean },
  ): boolean {
    const known = this.#failed.get(message)
    const count = (known?.count ?? 0) + 1
    const sinceMs = known?.sinceMs ?? nowMs
    const againMs = nowMs + (failure === 'no-answer' ? RETRY_MS : 0)
    this.#failed.set(message, { count, sinceMs, againMs })
    const isFinal = decides
      ? isFinalForCondition(failure, count, nowMs - sinceMs)
      : failure !== 'bus' || count >= READ_ATTEMPTS
    if (!isFinal) this.#requested.delete(message)
    return isFinal
  }

  giveUp(message: MessageDefinition): void {
    this.#givenUp.add(message)
  }

  isGivenUp(message: MessageDefinition): boolean {
    return this.#givenUp.has(message)
  }

  mayAnswer(message: MessageDefinition): boolean {
    return !this.#givenUp.has(message) && (this.#failed.get(message)?.count ?? 0) < READ_ATTEMPTS
  }
}

function isFinalForCondition(failure: MessageReadFailure, count: number, lastedMs: number): boolean {
  return failure === 'refused' ? count >= REFUSALS : count >= READ_ATTEMPTS && lastedMs >= SILENCE_MS
}
