/**
 * Server health: the result of the last request to each model server counts as its present state.
 *
 * Holds the last fault of each server; otherwise pure.
 */
import type { Fault } from '../core/fault.ts'
import type { Result } from '../core/result.ts'
import type { ModelBackend } from './model-backend.ts'

/** Hears once that something is wrong, and once that it is not any more, however often it is asked meanwhile. */
export interface ModelServerHealthListener {
  readonly trouble: (message: string) => void
  readonly well: () => void
}

export interface MonitoredBackend extends ModelBackend {
  readonly trouble: () => Fault | undefined
  /** Only checks whether the server answers. */
  readonly look: (signal: AbortSignal) => Promise<void>
}

/** Kinds of faults that say something about the server. That it is busy, or that the caller disconnected, does not. */
const MEANINGFUL_FAULTS: ReadonlySet<Fault['kind']> = new Set(['offline', 'failed', 'not-found'])

export function trackBackendHealth(backend: ModelBackend, news: ModelServerHealthListener): MonitoredBackend {
  let trouble: Fault | undefined
  const note = <Answer extends Result<unknown, Fault>>(answer: Answer): Answer => {
    if (!answer.ok && !MEANINGFUL_FAULTS.has(answer.fault.kind)) return answer
    const known = trouble?.message
    trouble = answer.ok ? undefined : answer.fault
    if (trouble !== undefined && trouble.message !== known) news.trouble(trouble.message)
    if (trouble === undefined && known !== undefined) news.well()
    return answer
  }
  return {
    name: backend.name,
    chat: async function* (request, signal) {
      return note(yield* backend.chat(request, signal))
    },
    embed: async (request, signal) => note(await backend.embed(request, signal)),
    trouble: () => trouble,
    look: async (signal) => {
      const reached = await backend.reach?.(signal)
      if (reached !== undefined && !signal.aborted) note(reached)
    },
  }
}
